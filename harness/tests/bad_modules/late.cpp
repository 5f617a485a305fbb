// The library of load_late.cpp, in builds that differ: what it gives is the same, and where that is kept is not.
extern "C" float same(float value) {
  volatile float kept[LATE_BUILD] = {};
  kept[LATE_BUILD - 1] = value;
  return kept[LATE_BUILD - 1];
}
