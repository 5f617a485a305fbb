# find_package(assay): the target assay::kernel (headers) and the function assay_module() (module.cmake).
include("${CMAKE_CURRENT_LIST_DIR}/assay-targets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/module.cmake")
