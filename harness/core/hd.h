// One source for host and device: functions marked ASSAY_HD compile for both. No CUDA header is needed here.
#pragma once

#if defined(__CUDACC__)
#define ASSAY_HD __host__ __device__
#else
#define ASSAY_HD
#endif
