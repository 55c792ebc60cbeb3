/*
 * The guard's declarations of cuda.h and cudnn.h, compiled with the real headers: a wrong type or number is a compile
 * error. Enums are ints here, as in build-support/guard. The pointer types differ but have the same size, so each
 * function is compared through a function type with the enums and descriptors of the header.
 */
#include <cuda.h>
#include <cudnn.h>
#include <stddef.h>

#define SAME(type, size) _Static_assert(sizeof(type) == (size), #type)
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
SAME(cudnnDeterminism_t, 4);
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
/* The names in algorithm.rs are indexed by these numbers, and the list is complete. */
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
IS(CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, 2);
IS(CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, 3);
IS(CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, 4);
IS(CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, 5);
IS(CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, 6);
IS(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, 0);
IS(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, 1);
IS(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, 2);
IS(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, 3);
IS(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD, 4);
IS(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, 5);
IS(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, 6);
IS(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, 7);
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

int main(void) {
    /* The versioned names: the macros of cuda.h expand to them, and the guard looks them up by name. */
    R (*init)(unsigned int) = cuInit;
    R (*driver_version)(int *) = cuDriverGetVersion;
    R (*count)(int *) = cuDeviceGetCount;
    R (*device)(CUdevice *, int) = cuDeviceGet;
    R (*name)(char *, int, CUdevice) = cuDeviceGetName;
    R (*attribute)(int *, CUdevice_attribute, CUdevice) = cuDeviceGetAttribute;
    R (*retain)(CUcontext *, CUdevice) = cuDevicePrimaryCtxRetain;
    R (*release)(CUdevice) = cuDevicePrimaryCtxRelease_v2;
    R (*push)(CUcontext) = cuCtxPushCurrent_v2;
    R (*pop)(CUcontext *) = cuCtxPopCurrent_v2;
    R (*synchronize)(void) = cuCtxSynchronize;
    R (*info)(size_t *, size_t *) = cuMemGetInfo_v2;
    R (*alloc)(CUdeviceptr *, size_t) = cuMemAlloc_v2;
    R (*free_)(CUdeviceptr) = cuMemFree_v2;
    R (*to_device)(CUdeviceptr, const void *, size_t) = cuMemcpyHtoD_v2;
    R (*to_host)(void *, CUdeviceptr, size_t) = cuMemcpyDtoH_v2;
    R (*fill)(CUdeviceptr, unsigned int, size_t) = cuMemsetD32_v2;
    R (*is_capturing)(CUstream, CUstreamCaptureStatus *) = cuStreamIsCapturing;
    R (*exchange_mode)(CUstreamCaptureMode *) = cuThreadExchangeStreamCaptureMode;

    S (*create)(H *) = cudnnCreate;
    S (*destroy)(H) = cudnnDestroy;
    S (*create_tensor)(T *) = cudnnCreateTensorDescriptor;
    S (*set_tensor)(T, cudnnTensorFormat_t, cudnnDataType_t, int, int, int, int) = cudnnSetTensor4dDescriptor;
    S (*destroy_tensor)(T) = cudnnDestroyTensorDescriptor;
    S (*create_filter)(F *) = cudnnCreateFilterDescriptor;
    S (*set_filter)(F, cudnnDataType_t, cudnnTensorFormat_t, int, int, int, int) = cudnnSetFilter4dDescriptor;
    S (*destroy_filter)(F) = cudnnDestroyFilterDescriptor;
    S (*create_convolution)(C *) = cudnnCreateConvolutionDescriptor;
    S (*set_convolution)(C, int, int, int, int, int, int, cudnnConvolutionMode_t, cudnnDataType_t) =
        cudnnSetConvolution2dDescriptor;
    S (*set_math)(C, cudnnMathType_t) = cudnnSetConvolutionMathType;
    S (*destroy_convolution)(C) = cudnnDestroyConvolutionDescriptor;
    S (*output)(C, T, F, int *, int *, int *, int *) = cudnnGetConvolution2dForwardOutputDim;
    S (*workspace)(H, T, F, C, T, cudnnConvolutionFwdAlgo_t, size_t *) = cudnnGetConvolutionForwardWorkspaceSize;
    S (*forward)(H, const void *, T, const void *, F, const void *, C, cudnnConvolutionFwdAlgo_t, void *, size_t,
                 const void *, T, void *) = cudnnConvolutionForward;
    S (*create_activation)(A *) = cudnnCreateActivationDescriptor;
    S (*set_activation)(A, cudnnActivationMode_t, cudnnNanPropagation_t, double) = cudnnSetActivationDescriptor;
    S (*destroy_activation)(A) = cudnnDestroyActivationDescriptor;
    S (*offers)(H, T, F, C, T, int, int *, Perf *) = cudnnGetConvolutionForwardAlgorithm_v7;
    S (*data_workspace)(H, F, T, C, T, cudnnConvolutionBwdDataAlgo_t, size_t *) =
        cudnnGetConvolutionBackwardDataWorkspaceSize;
    S (*filter_workspace)(H, T, T, C, F, cudnnConvolutionBwdFilterAlgo_t, size_t *) =
        cudnnGetConvolutionBackwardFilterWorkspaceSize;
    S (*backward_data)(H, const void *, F, const void *, T, const void *, C, cudnnConvolutionBwdDataAlgo_t, void *,
                       size_t, const void *, T, void *) = cudnnConvolutionBackwardData;
    S (*backward_filter)(H, const void *, T, const void *, T, const void *, C, cudnnConvolutionBwdFilterAlgo_t, void *,
                         size_t, const void *, F, void *) = cudnnConvolutionBackwardFilter;
    S (*fused)(H, const void *, T, const void *, F, const void *, C, cudnnConvolutionFwdAlgo_t, void *, size_t,
               const void *, T, const void *, T, const void *, A, T, void *) = cudnnConvolutionBiasActivationForward;
#if CUDNN_MAJOR >= 9
    void (*last_error)(char *, size_t) = cudnnGetLastErrorString;
    (void)last_error;
    S (*create_node)(cudnnBackendDescriptorType_t, B *) = cudnnBackendCreateDescriptor;
    S (*destroy_node)(B) = cudnnBackendDestroyDescriptor;
    S (*finalize)(B) = cudnnBackendFinalize;
    S (*set)(B, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, const void *) =
        cudnnBackendSetAttribute;
    S (*get)(B, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t, int64_t, int64_t *, void *) =
        cudnnBackendGetAttribute;
    S (*execute)(H, B, B) = cudnnBackendExecute;
    (void)create_node, (void)destroy_node, (void)finalize, (void)set, (void)get, (void)execute;
#endif
    (void)init, (void)driver_version, (void)count, (void)device, (void)name, (void)attribute, (void)retain;
    (void)release, (void)push, (void)pop, (void)synchronize, (void)info, (void)alloc, (void)free_;
    (void)to_device, (void)to_host, (void)fill, (void)is_capturing, (void)exchange_mode;
    (void)create, (void)destroy, (void)create_tensor, (void)set_tensor, (void)destroy_tensor, (void)create_filter;
    (void)set_filter, (void)destroy_filter, (void)create_convolution, (void)set_convolution, (void)set_math;
    (void)destroy_convolution, (void)output, (void)workspace, (void)forward;
    (void)create_activation, (void)set_activation, (void)destroy_activation, (void)offers;
    (void)data_workspace, (void)filter_workspace, (void)backward_data, (void)backward_filter, (void)fused;
    return 0;
}
