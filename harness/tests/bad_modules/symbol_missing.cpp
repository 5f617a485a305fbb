// not loaded: exports nothing that Assay knows.
extern "C" __attribute__((visibility("default"))) int unrelated() { return 0; }
