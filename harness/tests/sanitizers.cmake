# What a build under a sanitizer leaves out, counted as skips, and what only one under ThreadSanitizer tests.

# left_out(NAME REASON): a test that skips itself for that reason, as ci/tally.py reads it.
function(left_out name reason)
  add_test(NAME left_out_${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_tests_properties(left_out_${name} PROPERTIES LABELS threads SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()

foreach(set AVX-512 SSE4)
  left_out(${set} "SIMD kernels for ${set}: under a sanitizer a set takes minutes to compile (kernels/common/targets.h)")
endforeach()

if(NOT ASSAY_SANITIZE STREQUAL thread)
  return()
endif()

# Every race is reported to TSAN_OPTIONS' log_path, where ci/test looks.

# CPU kernels, and the oracles and fills that judge them, on two threads that meet. In a tree without what was observed:
# on a machine that has some, an instrumented kernel would not be the approved one.
set(tree ${CMAKE_CURRENT_BINARY_DIR}/tree)
file(REMOVE_RECURSE ${tree})
file(COPY ${CMAKE_SOURCE_DIR}/ci/policy DESTINATION ${tree}/ci)
file(COPY ${CMAKE_SOURCE_DIR}/golden DESTINATION ${tree} PATTERN observed EXCLUDE)
foreach(op reduce bias_gelu gemm gemm_int8)
  add_test(NAME races_of_${op} COMMAND assay check --root ${tree} --filter ${op}/simd --threads 2)
  set_tests_properties(races_of_${op} PROPERTIES LABELS threads TIMEOUT 1800)
  add_dependencies(threads assay assay-judge assay-worker module_${op}_simd)
endforeach()

foreach(op softmax layernorm_residual)
  left_out(races_of_${op} "${op}/simd: instrumented for races, Clang takes more than five minutes to compile it")
endforeach()

# Races are seen, between threads of the library and of OpenMP, and a barrier is not taken for one.
add_executable(seeded_race seeded_race.cpp)
target_link_libraries(seeded_race PRIVATE OpenMP::OpenMP_CXX Threads::Threads)
add_dependencies(threads seeded_race)
foreach(kind threads openmp)
  add_test(NAME seeded_race_${kind} COMMAND seeded_race ${kind})
  set_tests_properties(seeded_race_${kind} PROPERTIES LABELS threads
    PASS_REGULAR_EXPRESSION "ThreadSanitizer: data race" ENVIRONMENT "TSAN_OPTIONS=ignore_noninstrumented_modules=1")
endforeach()
add_test(NAME seeded_race_none COMMAND seeded_race none)
set_tests_properties(seeded_race_none PROPERTIES LABELS threads)
