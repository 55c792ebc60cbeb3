/*
 * The guard's declarations of cuda.h and cudnn.h, compiled with the real headers: a wrong type or number is a compile
 * error. Enums are ints here, as in build-support/guard. The pointer types differ but have the same size, so each
 * function is compared with a type that has the enums and descriptors of the header.
 */
#include <cuda.h>
#include <cudnn.h>
#include <stddef.h>

#define SAME(type, size) _Static_assert(sizeof(type) == (size), #type)
#define CALL(result, name, ...)                                                                                        \
    _Static_assert(__builtin_types_compatible_p(__typeof__(name), result(__VA_ARGS__)), #name)
#define IS(name, number) _Static_assert((int)(name) == (number), #name)

/* Passed as int or unsigned int. */
SAME(CUresult, 4);
SAME(CUdevice, 4);
SAME(CUdevice_attribute, 4);
SAME(cudnnStatus_t, 4);
SAME(cudnnDataType_t, 4);
SAME(cudnnTensorFormat_t, 4);
SAME(cudnnConvolutionMode_t, 4);
SAME(cudnnConvolutionFwdAlgo_t, 4);
SAME(cudnnConvolutionBwdDataAlgo_t, 4);
SAME(cudnnConvolutionBwdFilterAlgo_t, 4);
SAME(cudnnMathType_t, 4);
SAME(cudnnActivationMode_t, 4);
SAME(cudnnNanPropagation_t, 4);
/* Passed as pointers. */
SAME(CUcontext, sizeof(void *));
SAME(cudnnHandle_t, sizeof(void *));
SAME(cudnnTensorDescriptor_t, sizeof(void *));
SAME(cudnnFilterDescriptor_t, sizeof(void *));
SAME(cudnnConvolutionDescriptor_t, sizeof(void *));
SAME(cudnnActivationDescriptor_t, sizeof(void *));
/* Passed as u64. */
SAME(CUdeviceptr, 8);

IS(CUDA_SUCCESS, 0);
IS(CUDA_ERROR_OUT_OF_MEMORY, 2);
IS(CUDA_ERROR_NOT_INITIALIZED, 3);
IS(CUDA_ERROR_STUB_LIBRARY, 34);
IS(CUDA_ERROR_DEVICE_UNAVAILABLE, 46);
IS(CUDA_ERROR_NO_DEVICE, 100);
IS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906);
IS(CU_STREAM_CAPTURE_MODE_RELAXED, 2);
IS(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20);
SAME(CUstreamCaptureMode, 4);
SAME(CUstreamCaptureStatus, 4);
IS(CUDA_ERROR_INVALID_DEVICE, 101);
IS(CUDA_ERROR_NO_BINARY_FOR_GPU, 209);
IS(CUDA_ERROR_ECC_UNCORRECTABLE, 214);
IS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222);
IS(CUDA_ERROR_OPERATING_SYSTEM, 304);
IS(CUDA_ERROR_ILLEGAL_ADDRESS, 700);
IS(CUDA_ERROR_LAUNCH_FAILED, 719);
IS(CUDA_ERROR_NOT_PERMITTED, 800);
IS(CUDA_ERROR_SYSTEM_NOT_READY, 802);
IS(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803);
IS(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804);
IS(CUDA_ERROR_MPS_CONNECTION_FAILED, 805);
IS(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810);
IS(CUDA_ERROR_UNKNOWN, 999);
IS(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75);
IS(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76);

/* `Offer` in cudnn_calls.rs, member by member. */
typedef cudnnConvolutionFwdAlgoPerf_t Perf;
SAME(Perf, 48);
IS(offsetof(Perf, algo), 0);
IS(offsetof(Perf, status), 4);
IS(offsetof(Perf, time), 8);
IS(offsetof(Perf, memory), 16);
IS(offsetof(Perf, determinism), 24);
IS(offsetof(Perf, mathType), 28);
IS(offsetof(Perf, reserved), 32);

IS(CUDNN_DATA_FLOAT, 0);
IS(CUDNN_DATA_HALF, 2);
IS(CUDNN_DATA_BFLOAT16, 9);
IS(CUDNN_TENSOR_NCHW, 0);
IS(CUDNN_TENSOR_NHWC, 1);
IS(CUDNN_ACTIVATION_RELU, 1);
IS(CUDNN_NOT_PROPAGATE_NAN, 0);
IS(CUDNN_DEFAULT_MATH, 0);
IS(CUDNN_TENSOR_OP_MATH, 1);
IS(CUDNN_CROSS_CORRELATION, 1);
IS(CUDNN_FMA_MATH, 3);
/* The names of the forward algorithms in algorithm.rs are indexed by these numbers, and the list is complete. */
IS(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, 0);
IS(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, 1);
IS(CUDNN_CONVOLUTION_FWD_ALGO_GEMM, 2);
IS(CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, 3);
IS(CUDNN_CONVOLUTION_FWD_ALGO_FFT, 4);
IS(CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, 5);
IS(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, 6);
IS(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, 7);
IS(CUDNN_CONVOLUTION_FWD_ALGO_COUNT, 8);
IS(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, 0);
IS(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, 1);
IS(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, 0);
IS(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, 1);
#if CUDNN_MAJOR >= 9
IS(CUDNN_STATUS_NOT_INITIALIZED, 1001);
IS(CUDNN_STATUS_BAD_PARAM, 2000);
IS(CUDNN_STATUS_NOT_SUPPORTED, 3000);
IS(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH, 3007);
IS(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, 4003);
IS(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, 4004);
IS(CUDNN_STATUS_EXECUTION_FAILED, 5000);
#else
IS(CUDNN_STATUS_NOT_INITIALIZED, 1);
IS(CUDNN_STATUS_ALLOC_FAILED, 2);
IS(CUDNN_STATUS_BAD_PARAM, 3);
IS(CUDNN_STATUS_ARCH_MISMATCH, 6);
IS(CUDNN_STATUS_EXECUTION_FAILED, 8);
IS(CUDNN_STATUS_NOT_SUPPORTED, 9);
#endif

typedef CUresult R;
typedef cudnnStatus_t S;
typedef cudnnHandle_t H;
typedef cudnnTensorDescriptor_t T;
typedef cudnnFilterDescriptor_t F;
typedef cudnnConvolutionDescriptor_t C;
typedef cudnnActivationDescriptor_t A;
#if CUDNN_MAJOR >= 9
typedef cudnnBackendDescriptor_t B;
SAME(cudnnBackendDescriptorType_t, 4);
SAME(cudnnBackendAttributeName_t, 4);
SAME(cudnnBackendAttributeType_t, 4);
SAME(cudnnBackendHeurMode_t, 4);
SAME(cudnnBackendNumericalNote_t, 4);
SAME(B, sizeof(void *));
IS(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, 1002);
IS(CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE, 3009);
IS(CUDNN_STATUS_INTERNAL_ERROR, 4000);
#endif

/* The versioned names: the macros of cuda.h expand to them, and the guard looks them up by name. */
CALL(R, cuInit, unsigned int);
CALL(R, cuDriverGetVersion, int *);
CALL(R, cuDeviceGetCount, int *);
CALL(R, cuDeviceGet, CUdevice *, int);
CALL(R, cuDeviceGetName, char *, int, CUdevice);
CALL(R, cuDeviceGetAttribute, int *, CUdevice_attribute, CUdevice);
CALL(R, cuDevicePrimaryCtxRetain, CUcontext *, CUdevice);
CALL(R, cuDevicePrimaryCtxRelease_v2, CUdevice);
CALL(R, cuCtxPushCurrent_v2, CUcontext);
CALL(R, cuCtxPopCurrent_v2, CUcontext *);
CALL(R, cuCtxSynchronize, void);
CALL(R, cuMemGetInfo_v2, size_t *, size_t *);
CALL(R, cuMemAlloc_v2, CUdeviceptr *, size_t);
CALL(R, cuMemFree_v2, CUdeviceptr);
CALL(R, cuMemcpyHtoD_v2, CUdeviceptr, const void *, size_t);
CALL(R, cuMemcpyDtoH_v2, void *, CUdeviceptr, size_t);
CALL(R, cuMemsetD32_v2, CUdeviceptr, unsigned int, size_t);
CALL(R, cuStreamIsCapturing, CUstream, CUstreamCaptureStatus *);
CALL(R, cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *);
CALL(S, cudnnCreate, H *);
CALL(S, cudnnDestroy, H);
CALL(S, cudnnCreateTensorDescriptor, T *);
CALL(S, cudnnSetTensor4dDescriptor, T, cudnnTensorFormat_t, cudnnDataType_t, int, int, int, int);
CALL(S, cudnnDestroyTensorDescriptor, T);
CALL(S, cudnnCreateFilterDescriptor, F *);
CALL(S, cudnnSetFilter4dDescriptor, F, cudnnDataType_t, cudnnTensorFormat_t, int, int, int, int);
CALL(S, cudnnDestroyFilterDescriptor, F);
CALL(S, cudnnCreateConvolutionDescriptor, C *);
CALL(S, cudnnSetConvolution2dDescriptor, C, int, int, int, int, int, int, cudnnConvolutionMode_t, cudnnDataType_t);
CALL(S, cudnnSetConvolutionMathType, C, cudnnMathType_t);
CALL(S, cudnnDestroyConvolutionDescriptor, C);
CALL(S, cudnnGetConvolution2dForwardOutputDim, C, T, F, int *, int *, int *, int *);
CALL(S, cudnnGetConvolutionForwardWorkspaceSize, H, T, F, C, T, cudnnConvolutionFwdAlgo_t, size_t *);
CALL(S, cudnnConvolutionForward, H, const void *, T, const void *, F, const void *, C, cudnnConvolutionFwdAlgo_t,
     void *, size_t, const void *, T, void *);
CALL(S, cudnnCreateActivationDescriptor, A *);
CALL(S, cudnnSetActivationDescriptor, A, cudnnActivationMode_t, cudnnNanPropagation_t, double);
CALL(S, cudnnDestroyActivationDescriptor, A);
CALL(S, cudnnGetConvolutionForwardAlgorithm_v7, H, T, F, C, T, int, int *, Perf *);
CALL(S, cudnnGetConvolutionBackwardDataWorkspaceSize, H, F, T, C, T, cudnnConvolutionBwdDataAlgo_t, size_t *);
CALL(S, cudnnGetConvolutionBackwardFilterWorkspaceSize, H, T, T, C, F, cudnnConvolutionBwdFilterAlgo_t, size_t *);
CALL(S, cudnnConvolutionBackwardData, H, const void *, F, const void *, T, const void *, C,
     cudnnConvolutionBwdDataAlgo_t, void *, size_t, const void *, T, void *);
CALL(S, cudnnConvolutionBackwardFilter, H, const void *, T, const void *, T, const void *, C,
     cudnnConvolutionBwdFilterAlgo_t, void *, size_t, const void *, F, void *);
CALL(S, cudnnConvolutionBiasActivationForward, H, const void *, T, const void *, F, const void *, C,
     cudnnConvolutionFwdAlgo_t, void *, size_t, const void *, T, const void *, T, const void *, A, T, void *);
#if CUDNN_MAJOR >= 9
CALL(void, cudnnGetLastErrorString, char *, size_t);
CALL(S, cudnnBackendCreateDescriptor, cudnnBackendDescriptorType_t, B *);
CALL(S, cudnnBackendDestroyDescriptor, B);
CALL(S, cudnnBackendFinalize, B);
CALL(S, cudnnBackendSetAttribute, B, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, const void *);
CALL(S, cudnnBackendGetAttribute, B, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, int64_t *,
     void *);
CALL(S, cudnnBackendExecute, H, B, B);
#endif
