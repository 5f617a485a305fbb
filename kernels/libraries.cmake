# Finds the libraries that have kernels here and writes library_path.txt: the folders, one a line, that a worker needs
# in LD_LIBRARY_PATH because the system's loader does not look there (modules carry no RPATH). A library that is absent
# leaves its kernels out, which is said. To add a library: find it here, say what is left out without it, and list its
# kernels in CMakeLists.txt.
set(ASSAY_VENV ${CMAKE_SOURCE_DIR}/.venv CACHE PATH "Python environment made by ci/setup; oneDNN is looked for in it")

pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
find_package(dnnl 3.0 CONFIG QUIET HINTS ${ASSAY_VENV})

set(library_folders "")
if(OPENBLAS_FOUND)
  message(STATUS "OpenBLAS ${OPENBLAS_VERSION}: its kernels are built")
else()
  message(WARNING "OpenBLAS is absent: its kernels (*/openblas) are left out; ci/setup installs it")
endif()
if(TARGET DNNL::dnnl)
  get_target_property(onednn_file DNNL::dnnl LOCATION)
  get_filename_component(onednn_folder ${onednn_file} DIRECTORY)
  if(NOT onednn_folder MATCHES "^(/usr)?/lib(64)?(/|$)")
    list(APPEND library_folders ${onednn_folder})
  endif()
  message(STATUS "oneDNN ${dnnl_VERSION}: its kernels are built")
else()
  message(WARNING "oneDNN 3 is absent from ${ASSAY_VENV}: its kernels (*/onednn*) are left out; ci/setup installs it")
endif()
include(cuda_libraries.cmake)
list(JOIN library_folders "\n" library_path)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/library_path.txt CONTENT "${library_path}\n" @ONLY)
