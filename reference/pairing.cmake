# An op is built only beside its truth golden. While a new op's golden is being made, -DASSAY_NEW_OP=NAME exempts it.
function(require_truth_golden op folder)
  if(NOT EXISTS ${folder}/${op}.txt AND NOT op STREQUAL "${ASSAY_NEW_OP}")
    message(FATAL_ERROR "op ${op} has no truth golden ${folder}/${op}.txt: configure with -DASSAY_NEW_OP=${op}, build, "
                        "run 'assay golden update --filter ${op}', review the file, configure with -DASSAY_NEW_OP=")
  endif()
endfunction()
