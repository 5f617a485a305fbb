# What only a build under ThreadSanitizer tests. Every race is reported to TSAN_OPTIONS' log_path, where ci/test looks.

# CPU kernels, and the oracles and fills that judge them, on two threads that meet. Those of softmax and
# layernorm_residual are left out: instrumented, Clang takes more than five minutes to compile one. Those of gemm and
# gemm_int8 have not been tried.
foreach(op reduce bias_gelu)
  add_test(NAME races_of_${op} COMMAND assay check --filter ${op}/simd --threads 2 --out ${CMAKE_BINARY_DIR}/test-results/races_of_${op})
  set_tests_properties(races_of_${op} PROPERTIES LABELS threads TIMEOUT 1800)
  add_dependencies(threads assay assay-judge assay-worker module_${op}_simd)
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
