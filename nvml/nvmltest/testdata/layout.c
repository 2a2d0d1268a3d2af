// Compiled with NVIDIA's header on the include path: what package nvml assumes
// of structs and calls must be what the header says.
#include <stddef.h>
#include "nvml.h"

#define SAME(what, is) _Static_assert((what) == (is), #what)
SAME(sizeof(nvmlPciInfo_t), 68);
SAME(offsetof(nvmlPciInfo_t, busIdLegacy), 0);
SAME(offsetof(nvmlPciInfo_t, busId), 36);
SAME(sizeof(nvmlMemory_t), 24);
SAME(offsetof(nvmlMemory_t, total), 0);
SAME(sizeof(nvmlDeviceAttributes_t), 40);
SAME(offsetof(nvmlDeviceAttributes_t, gpuInstanceSliceCount), 24);
SAME(offsetof(nvmlDeviceAttributes_t, computeInstanceSliceCount), 28);
SAME(offsetof(nvmlDeviceAttributes_t, memorySizeMB), 32);
SAME(sizeof(nvmlGpuFabricInfo_v2_t), 36);
SAME(offsetof(nvmlGpuFabricInfo_v2_t, clusterUuid), 4);
SAME(offsetof(nvmlGpuFabricInfo_v2_t, status), 20);
SAME(offsetof(nvmlGpuFabricInfo_v2_t, cliqueId), 24);
SAME(offsetof(nvmlGpuFabricInfo_v2_t, state), 28);
SAME(nvmlGpuFabricInfo_v2, 36 | 2 << 24);
SAME(sizeof(nvmlEventData_t), 32);
SAME(offsetof(nvmlEventData_t, eventType), 8);
SAME(offsetof(nvmlEventData_t, eventData), 16);
SAME(NVML_SUCCESS, 0);
SAME(NVML_ERROR_INVALID_ARGUMENT, 2);
SAME(NVML_ERROR_NOT_SUPPORTED, 3);
SAME(NVML_ERROR_NO_PERMISSION, 4);
SAME(NVML_ERROR_NOT_FOUND, 6);
SAME(NVML_ERROR_DRIVER_NOT_LOADED, 9);
SAME(NVML_ERROR_LIBRARY_NOT_FOUND, 12);
SAME(NVML_ERROR_FUNCTION_NOT_FOUND, 13);
SAME(NVML_ERROR_GPU_IS_LOST, 15);
SAME(NVML_ERROR_RESET_REQUIRED, 16);
SAME(NVML_ERROR_LIB_RM_VERSION_MISMATCH, 18);
SAME(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, 1);
SAME(NVML_VOLATILE_ECC, 0);
SAME(nvmlEventTypeXidCriticalError, 8);
SAME(NVML_P2P_CAPS_INDEX_NVLINK, 2);
SAME(NVML_P2P_STATUS_OK, 0);
SAME(NVML_NVLINK_DEVICE_TYPE_SWITCH, 2);
SAME(NVML_TOPOLOGY_SYSTEM, 50);
SAME(sizeof(nvmlEnableState_t), 4);

#define CALL(name, ...) nvmlReturn_t (*p_##name)(__VA_ARGS__) = name
CALL(nvmlInit_v2, void);
CALL(nvmlShutdown, void);
CALL(nvmlSystemGetDriverVersion, char *, unsigned);
CALL(nvmlSystemGetNVMLVersion, char *, unsigned);
CALL(nvmlDeviceGetCount_v2, unsigned *);
CALL(nvmlDeviceGetHandleByIndex_v2, unsigned, nvmlDevice_t *);
CALL(nvmlDeviceGetName, nvmlDevice_t, char *, unsigned);
CALL(nvmlDeviceGetUUID, nvmlDevice_t, char *, unsigned);
CALL(nvmlDeviceGetMinorNumber, nvmlDevice_t, unsigned *);
CALL(nvmlDeviceGetPciInfo_v3, nvmlDevice_t, nvmlPciInfo_t *);
CALL(nvmlDeviceGetMemoryInfo, nvmlDevice_t, nvmlMemory_t *);
CALL(nvmlDeviceGetCudaComputeCapability, nvmlDevice_t, int *, int *);
CALL(nvmlDeviceGetArchitecture, nvmlDevice_t, nvmlDeviceArchitecture_t *);
CALL(nvmlDeviceGetCpuAffinity, nvmlDevice_t, unsigned, unsigned long *);
CALL(nvmlDeviceGetMemoryAffinity, nvmlDevice_t, unsigned, unsigned long *, nvmlAffinityScope_t);
CALL(nvmlDeviceGetNvLinkState, nvmlDevice_t, unsigned, nvmlEnableState_t *);
CALL(nvmlDeviceGetNvLinkRemotePciInfo_v2, nvmlDevice_t, unsigned, nvmlPciInfo_t *);
CALL(nvmlDeviceGetNvLinkRemoteDeviceType, nvmlDevice_t, unsigned, nvmlIntNvLinkDeviceType_t *);
CALL(nvmlDeviceGetP2PStatus, nvmlDevice_t, nvmlDevice_t, nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t *);
CALL(nvmlDeviceGetTopologyCommonAncestor, nvmlDevice_t, nvmlDevice_t, nvmlGpuTopologyLevel_t *);
CALL(nvmlDeviceGetGpuFabricInfoV, nvmlDevice_t, nvmlGpuFabricInfoV_t *);
CALL(nvmlDeviceGetMigMode, nvmlDevice_t, unsigned *, unsigned *);
CALL(nvmlDeviceGetMaxMigDeviceCount, nvmlDevice_t, unsigned *);
CALL(nvmlDeviceGetMigDeviceHandleByIndex, nvmlDevice_t, unsigned, nvmlDevice_t *);
CALL(nvmlDeviceGetGpuInstanceId, nvmlDevice_t, unsigned *);
CALL(nvmlDeviceGetComputeInstanceId, nvmlDevice_t, unsigned *);
CALL(nvmlDeviceGetAttributes_v2, nvmlDevice_t, nvmlDeviceAttributes_t *);
CALL(nvmlDeviceGetTotalEccErrors, nvmlDevice_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t, unsigned long long *);
CALL(nvmlDeviceGetRetiredPagesPendingStatus, nvmlDevice_t, nvmlEnableState_t *);
CALL(nvmlDeviceGetRemappedRows, nvmlDevice_t, unsigned *, unsigned *, unsigned *, unsigned *);
CALL(nvmlDeviceGetSupportedMemoryClocks, nvmlDevice_t, unsigned *, unsigned *);
CALL(nvmlDeviceGetSupportedGraphicsClocks, nvmlDevice_t, unsigned, unsigned *, unsigned *);
CALL(nvmlDeviceSetMemoryLockedClocks, nvmlDevice_t, unsigned, unsigned);
CALL(nvmlDeviceSetGpuLockedClocks, nvmlDevice_t, unsigned, unsigned);
CALL(nvmlDeviceResetMemoryLockedClocks, nvmlDevice_t);
CALL(nvmlDeviceResetGpuLockedClocks, nvmlDevice_t);
CALL(nvmlDeviceSetApplicationsClocks, nvmlDevice_t, unsigned, unsigned);
CALL(nvmlDeviceResetApplicationsClocks, nvmlDevice_t);
CALL(nvmlEventSetCreate, nvmlEventSet_t *);
CALL(nvmlDeviceRegisterEvents, nvmlDevice_t, unsigned long long, nvmlEventSet_t);
CALL(nvmlEventSetWait_v2, nvmlEventSet_t, nvmlEventData_t *, unsigned);
CALL(nvmlEventSetFree, nvmlEventSet_t);
