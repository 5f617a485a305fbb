/* The contract between the Assay harness and a kernel module: C11, self-contained, nothing else to include.
 *
 * A module is a shared object that exports `assay_module` and nothing else Assay cares about. C++ authors use
 * <assay/kernel.h>, which is written over this file; anybody else fills these tables by hand.
 *
 * Lifetimes: strings and tables reachable from assay_module() live as long as the module is loaded. Strings and
 * tensors of a call are valid during the function they are passed to; a kernel that needs them later copies them.
 * A function that returns `const char*` as its result returns NULL for success or the reason for failure, valid
 * until the next call on the same state.
 *
 * To change anything here: raise ASSAY_ABI_VERSION. The harness refuses a module of another version. A further promise
 * needs no other version: a module that was compiled before does not make it. */
#ifndef ASSAY_ABI_H
#define ASSAY_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_ABI_VERSION 2u

#if defined(__GNUC__) || defined(__clang__)
#define ASSAY_EXPORT __attribute__((visibility("default")))
#else
#define ASSAY_EXPORT
#endif

/* ---- tensors: the layout of DLPack 1.x (DLDevice, DLDataType, DLTensor); a pointer may be cast either way ---- */

typedef struct assay_device {
  int32_t device_type; /* 1 = CPU, 2 = CUDA */
  int32_t device_id;
} assay_device;

typedef struct assay_dtype {
  uint8_t code;   /* 0 signed integer, 1 unsigned integer, 2 IEEE float, 4 bfloat, 10 float8 e4m3fn */
  uint8_t bits;   /* of one element */
  uint16_t lanes; /* always 1 here */
} assay_dtype;

typedef struct assay_dltensor {
  void* data; /* NULL while planning; the element (0,...,0) lies at data + byte_offset */
  assay_device device;
  int32_t ndim;
  assay_dtype dtype;
  int64_t* shape;       /* elements, ndim of them */
  int64_t* strides;     /* elements, ndim of them, never NULL */
  uint64_t byte_offset; /* misalignment, when it is asked for, is here */
} assay_dltensor;

enum { ASSAY_INPUT = 0, ASSAY_OUTPUT = 1, ASSAY_INOUT = 2 };

typedef struct assay_tensor {
  const char* name; /* the op's name for it, such as "a" */
  assay_dltensor dl;
  uint64_t bytes;     /* from data + byte_offset to the end of the last element; 0 for an empty tensor */
  uint64_t alignment; /* guaranteed for data + byte_offset, bytes, a power of two */
  int32_t role;       /* ASSAY_INPUT, ... */
} assay_tensor;

/* One value of the case: an axis ("m", 64), a number ("alpha", 0.5) or a word ("ta", "t"). All three views are
 * filled where they make sense: `integer` and `real` for both kinds of number, `text` always (its printed form). */
typedef struct assay_field {
  const char* name;
  int64_t integer;
  double real;
  const char* text;
} assay_field;

typedef struct assay_call {
  uint32_t size; /* sizeof(assay_call), so that a later version can append */
  const char* op;
  const assay_field* fields;
  uint32_t field_count;
  const assay_tensor* tensors;
  uint32_t tensor_count;
  int32_t threads;          /* most CPU threads the kernel may use in launch; at least 1 */
  int32_t rank, world_size; /* 0 and 1 outside collectives */
  void* communicator;       /* NULL outside collectives */
} assay_call;

/* ---- the contract ---- */

/* Invariances a kernel promises: the output's bytes do not change when this and only this changes. */
enum {
  ASSAY_SAME_RUN = 1u << 0,       /* a repeated launch in one process */
  ASSAY_SAME_RESTART = 1u << 1,   /* another process */
  ASSAY_SAME_THREADS = 1u << 2,   /* another thread count */
  ASSAY_SAME_ALIGNMENT = 1u << 3, /* another address or alignment of any tensor or of the workspace */
  ASSAY_SAME_BATCH = 1u << 4,     /* a row (or batch entry) alone or among others */
  ASSAY_SAME_PADDING = 1u << 5,   /* another leading dimension */
  ASSAY_SAME_STREAM = 1u << 6,    /* another CUDA stream, or a replayed graph; not asked of a CPU kernel */
  ASSAY_SAME_LOAD = 1u << 7,      /* other work running beside it, other states of the kernel among it */
  ASSAY_SAME_ORDER = 1u << 8,     /* rows (or batch entries) in another order: each is what it was, where it now lies */
  ASSAY_SAME_ZEROS = 1u << 9      /* further terms of a sum that are all zero, such as the padding of k */
};

enum {                     /* unit in which products are summed */
       ASSAY_ACC_NONE = 0, /* the op sums nothing */
       ASSAY_ACC_F16 = 1,
       ASSAY_ACC_BF16 = 2,
       ASSAY_ACC_F32 = 3,
       ASSAY_ACC_F64 = 4,
       ASSAY_ACC_I32 = 5,
       ASSAY_ACC_TENSOR = 6 /* a matrix unit that adds several products at once, described by tensor_* */
};

enum { /* how exp is computed; reference/math/bounds.h gives the error each one is charged with */
       ASSAY_EXP_NONE = 0,
       ASSAY_EXP_ACCURATE = 1, /* at most 2 ulp of the accumulator type (expf, our SIMD exp) */
       ASSAY_EXP_FAST = 2,     /* __expf */
       ASSAY_EXP_BASE2 = 3     /* exp2 of a scaled argument */
};

enum { ASSAY_NAN_PROPAGATES = 0, ASSAY_NAN_UNSPECIFIED = 1 };

/* Arithmetic, declared, and tested: the rigorous bound is computed from it. */
typedef struct assay_arithmetic {
  int32_t accumulator; /* ASSAY_ACC_* */
  /* Depth h of the summation tree over n terms: ceil(n / depth_divisor) + depth_constant; depth_divisor 0 means
   * unknown, which makes the rigorous tier `weak`. An op caps what may be declared. */
  int32_t depth_divisor;
  int32_t depth_constant;
  int32_t split_k;            /* partial sums added at the end; 1 = none; counted up to the number of terms */
  int32_t partial_type;       /* ASSAY_ACC_* in which split-K partials are stored */
  int32_t exp_kind;           /* ASSAY_EXP_* */
  int32_t rescales_online;    /* 1: softmax-like kernels that rescale a running sum */
  int32_t flushes_subnormals; /* 1: subnormal inputs or results become zero */
  /* ASSAY_ACC_* type results pass through before the output is rounded; 0 = accumulator. It buys room for its own
   * rounding, if it is narrower than the output, and never for a narrower accumulator. */
  int32_t intermediate;
  /* Of ASSAY_ACC_TENSOR, all 0 otherwise. One step of the unit adds tensor_terms exact products to its running sum:
   * each addend is cut to tensor_fraction bits below the largest exponent among them, the sum to tensor_precision
   * fraction bits. After tensor_promotion products the running sum is added to a sum in f32 and starts anew; 0: it
   * never is. */
  int32_t tensor_terms;
  int32_t tensor_fraction;
  int32_t tensor_precision;
  int32_t tensor_promotion;
} assay_arithmetic;

typedef struct assay_contract {
  uint32_t interface_version; /* the author's own, raised when the kernel's meaning changes */
  const char* owner;          /* who is asked when it fails */
  /* What is claimed, as conditions on the case's fields joined by ';': "dtype in f32 bf16; cols <= 65536; pad == 0".
   * Grammar in <assay/domain.h>. What is claimed must work; what is not must be refused by prepare. */
  const char* domain;
  uint32_t promises; /* ASSAY_SAME_* */
  assay_arithmetic arithmetic;
  int32_t nan_policy;       /* ASSAY_NAN_* */
  uint64_t workspace_limit; /* bytes; workspace() above it is a broken contract */
  uint32_t alignment;       /* bytes it needs of every tensor; 0 or 1: the element's own size */
  int32_t may_fall_back;    /* 1: a reported fallback is allowed; 0: it fails the case */
  int32_t may_allocate;     /* 1: launch may take from the host's heap (libraries do): measured, no longer forbidden */
} assay_contract;

/* ---- a kernel ---- */

enum { ASSAY_WORKSPACE_ANY = 0, ASSAY_WORKSPACE_ZERO = 1 };

typedef struct assay_workspace {
  uint64_t bytes;
  uint64_t alignment; /* power of two; 0 = 1 */
  int32_t init;       /* ASSAY_WORKSPACE_ZERO: must be zero at each launch; ANY: content does not matter */
} assay_workspace;

typedef void (*assay_describe_sink)(void* sink, const char* key, const char* value);

typedef struct assay_kernel {
  const char* name;   /* unique within its op, such as "simd" */
  const char* op;     /* such as "gemm" */
  const char* target; /* "cpu" or "cuda" */
  assay_contract contract;

  /* A state per device and thread of use. NULL result: this machine lacks what the kernel needs, *error says what;
   * every case is then unsupported. What else goes wrong is for prepare to refuse. */
  void* (*create)(assay_device device, const char** error);
  void (*destroy)(void* state);

  /* Plans one call: tensors have shapes, strides, alignments, no data. Success: NULL, and *plan is set. Otherwise
   * the reason for refusing, which is how "unsupported" is said. Everything slow belongs here. */
  const char* (*prepare)(void* state, const assay_call* call, void** plan);
  void (*release)(void* state, void* plan);

  assay_workspace (*workspace)(const void* plan);

  /* The plan's own contract; NULL, as the function may be: the kernel's. A dispatcher's is its choice's. Arithmetic is
   * the plan's; it may promise more, and takes back no promise, no NaN policy, no limit and nothing forbidden. */
  const assay_contract* (*plan_contract)(const void* plan);

  /* Runs a plan. `pointers` holds one base pointer a tensor, in the order of the call (byte_offset is still to be
   * added), then the workspace (NULL when 0 bytes). `stream` is a cudaStream_t, NULL on a CPU. Asynchronous on
   * CUDA; allocates nothing, does not synchronise, keeps no pointer. Leaves the calling thread's rounding, flushing of
   * subnormals and exception masks, and the process's handlers of faults, as it found them; so do create and prepare.
   * NULL or the error. */
  const char* (*launch)(const void* plan, void* stream, void* const* pointers);

  /* Says what was chosen, one key and value at a time. Known keys: "algorithm", "isa", "tile", "stages", "split_k",
   * "reduction", "chosen" (by a dispatcher), "reason", "fallback" (what was wanted instead), "fallback_reason",
   * "candidate.NAME" ("eligible", "eligible by its contract, not asked", or the refusal). Others are recorded as they
   * come. */
  void (*describe)(const void* plan, assay_describe_sink emit, void* sink);
} assay_kernel;

typedef struct assay_module {
  uint32_t abi_version; /* ASSAY_ABI_VERSION the module was compiled with */
  uint32_t kernel_size; /* sizeof(assay_kernel) there */
  const char* name;
  uint32_t kernel_count;
  const assay_kernel* const* kernels;
} assay_module_table;

/* The one symbol a module exports: `ASSAY_EXPORT const assay_module_table* assay_module(void);` */
typedef const assay_module_table* (*assay_module_function)(void);
#define ASSAY_MODULE_SYMBOL "assay_module"

#ifdef __cplusplus
}
#endif
#endif
