// seeded_race threads|openmp|none: two threads that write one number without an order between them, or, for none, with
// OpenMP's barrier between them. ThreadSanitizer reports the first two and not the third, or its build proves nothing.
#include <cstdio>
#include <string>
#include <thread>

namespace {

int total = 0;

void race_of_threads() {
  std::jthread other([] { ++total; });
  ++total;
}

void race_of_openmp() {
#pragma omp parallel num_threads(2)
  ++total;
}

// Each half is written by one thread and read by the other.
void no_race() {
  int half[2] = {}, other[2] = {};
#pragma omp parallel for num_threads(2) schedule(static, 1)
  for (int i = 0; i < 2; ++i) half[i] = i + 1;
#pragma omp parallel for num_threads(2) schedule(static, 1)
  for (int i = 0; i < 2; ++i) other[i] = half[1 - i];
  total = other[0] + other[1];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc == 2 ? argv[1] : "";
  if (kind == "threads") {
    race_of_threads();
  } else if (kind == "openmp") {
    race_of_openmp();
  } else if (kind == "none") {
    no_race();
  } else {
    return 4;
  }
  std::printf("%d\n", total);
}
