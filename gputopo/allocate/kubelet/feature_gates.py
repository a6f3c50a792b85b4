"""The feature gates that a kubelet knows, by release.

Upstream: the gates that are registered when k8s.io/kubernetes/pkg/features and k8s.io/component-base/logs/api/v1 are
loaded as cmd/kubelet loads them, asked in v1.32.13, v1.33.13, v1.34.4, v1.35.4, v1.36.3 and v1.37.2. A kubelet ends
at its start for a gate that it does not know, and for one set against the value that it is locked to
(component-base/featuregate). That one gate depends on another is not looked at. Distributions add gates of their own.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from gputopo.allocate.kubelet.config_keys import NEWEST, OLDEST

# name, @first-last of the minors that have it where not all do, and !minor or ~minor since which it is locked to
# true or to false.
_GATES = """
APIListChunking@-32!32 APIResponseCompression APIServerIdentity APIServerTracing@-36!34
APIServerWebhookAuthenticationToken@37- APIServingWithRoutine AdmissionWebhookMatchConditions@-32!32
AggregatedDiscoveryEndpoint@-32!32 AggregatedDiscoveryRemoveBetaType@33-!35 AllAlpha AllBeta AllowDNSOnlyNodeCSR
AllowInsecureKubeletCertificateSigningRequests AllowOverwriteTerminationGracePeriodSeconds~35
AllowParsingUserUIDFromCertAuth@33- AllowServiceExternalIPs@36- AllowServiceLBStatusOnNonLB@-34~32
AllowUnsafeMalformedObjectDeletion AnonymousAuthConfigurableEndpoints@-36!34 AnyVolumeDataSource@-36!33
AppArmor@-32!32 AppArmorFields@-32!32 AtomicFIFO@36- AtomicWriteVolumeUserFields@37-
AuthorizeNodeWithSelectors@-36!34 AuthorizePodWebsocketUpgradeCreatePermission@35- AuthorizeWithSelectors@-36!34
BtreeWatchCache@-36!33 CBORServingAndStorage CPUManager@-32!32 CPUManagerPolicyAlphaOptions
CPUManagerPolicyBetaOptions CPUManagerPolicyOptions!33 CRDObservedGenerationTracking@35- CRDValidationRatcheting!33
CRIListStreaming@36- CSIMigrationPortworx@-35!33 CSIServiceAccountTokenSecrets@35-!36 CSIVolumeHealth
ChangeContainerStatusOnKubeletRestart@35- ClearingNominatedNodeNameAfterBinding@34- ClientsAllowCARotation@36-
ClientsAllowCBOR ClientsAllowTLSCacheGC@36- ClientsPreferCBOR
CloudControllerManagerWatchBasedRoutesReconciliation@35- CloudControllerManagerWebhook ClusterTrustBundle
ClusterTrustBundleProjection ComponentFlagz ComponentStatusz CompositePodGroup@37- ConcurrentWatchObjectDecode
ConsistentListFromCache@-36!34 ConsistentListFromCacheSkipTimeoutFallback@37- ConstrainedImpersonation@35-
ContainerCheckpoint ContainerRestartRules@34- ContainerStopSignals@33- ContextualLogging CoordinatedLeaderElection
CronJobsScheduledAnnotation@-34!32 CrossNamespaceVolumeDataSource CustomCPUCFSQuotaPeriod
CustomResourceFieldSelectors!32 DRAAdminAccess!36 DRAConsumableCapacity@34- DRADerivedAttributes@37-
DRADeviceBindingConditions@34- DRADeviceCompatibilityGroups@37- DRADeviceTaintRules@35- DRADeviceTaints@33-
DRAExtendedResource@34-!37 DRAFractionalCapacityRange@37- DRAListTypeAttributes@36- DRANodeAllocatableResources@36-
DRAOptionalNodeOperations@37- DRAPartitionableDevices@33- DRAPartitionableDevicesType@37- DRAPrioritizedList@33-!37
DRAResourceClaimDeviceStatus!37 DRAResourceClaimGranularStatusAuthorization@36- DRAResourcePoolStatus@36-
DRASchedulerFilterTimeout@34- DRAWorkloadResourceClaims@36- DeclarativeValidation@33-!36
DeclarativeValidationBeta@36- DeclarativeValidationTakeover@33-~37 DefaultPodSysctls@37-
DeploymentReplicaSetTerminatingReplicas@33- DetectCacheInconsistency@34- DevicePluginCDIDevices@-33!32
DisableAllocatorDualWrite!35 DisableCPUQuotaWithExclusiveCPUs@33-!37 DisableCloudProviders@-32!32
DisableKubeletCloudCredentialProviders@-32!32 DisableNodeKubeProxyVersion!36 DynamicResourceAllocation!35
EfficientWatchResumption@-32!32 ElasticIndexedJob@-33!32 EmptyDirVolumeMode@37- EnvFiles@34- EtcdRangeStream@37-
EventedPLEG EvictionRequestAPI@37- ExcludeAdmissionWebhookVirtualResources@37- ExecProbeTimeout!35
ExtendWebSocketsToKubelet@36- ExternalServiceAccountTokenSigner!36 GRPCContainerProbeTLS@37- GangScheduling@35-36
GenericWorkload@35- GitRepoVolumeDriver@33-~36 GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority
H2CContainerProbe@37- HPAConfigurableTolerance@33-!37 HPAGeneration@37- HPAOptimizedSelectorStore@37- HPAScaleToZero
HonorPVReclaimPolicy@-35!33 HostnameOverride@34-!37 HugepageAwareEviction@37- ImageMaximumGCAge!35 ImageVolume!36
ImageVolumeWithDigest@36- InOrderInformers@33-!36 InOrderInformersBatchProcess@35-
InPlacePodLevelResourcesVerticalScaling@35- InPlacePodVerticalScaling!35
InPlacePodVerticalScalingAllocatedStatus@-35 InPlacePodVerticalScalingExclusiveCPUs
InPlacePodVerticalScalingExclusiveMemory@34- InPlacePodVerticalScalingInitContainers@36-!37
InPlacePodVerticalScalingMemoryBackedVolumes@37- InPlacePodVerticalScalingSchedulerPreemption@37-
InTreePluginPortworxUnregister@-35 InformerResourceVersion InterPodAffinityHostnameFastPath@37-
JobBackoffLimitPerIndex@-36!33 JobManagedBy!35 JobPodFailurePolicy@-32!32 JobPodReplacementPolicy@-36!34
JobSuccessPolicy@-36!33 KMSv1 KubeProxyDrainingTerminatingNodes@-32!32 KubeProxyIPVS@37-
KubeProxyNFTablesLocalhostNodePorts@37- KubeletAllocatedPodsEndpoint@37- KubeletCgroupDriverFromCRI!34
KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages@33- KubeletFineGrainedAuthz!36 KubeletInUserNamespace
KubeletPSI@33-!36 KubeletPodResourcesDynamicResources!36 KubeletPodResourcesGet!36
KubeletPodResourcesListUseActivePods@34- KubeletRegistrationGetOnExistsOnly KubeletSeparateDiskGC
KubeletServiceAccountTokenForCredentialProviders@33- KubeletTracing!34 LegacySidecarContainers@33-33
ListFromCacheSnapshot@33- LoadBalancerIPMode@-34!32 LocalStorageCapacityIsolationFSQuotaMonitoring
LogarithmicScaleDown@-36!32 LoggingAlphaOptions LoggingBetaOptions ManifestBasedAdmissionControlConfig@36-
MatchLabelKeysInPodAffinity!33 MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge@34-
MaxUnavailableStatefulSet MemoryManager@-35!32 MemoryQoS MultiCIDRServiceAllocator!34
MutableCSINodeAllocatableCount@33-!36 MutablePVNodeAffinity@35- MutablePodResourcesForSuspendedJobs@35-
MutableSchedulingDirectivesForSuspendedJobs@35- MutatingAdmissionPolicy NFTablesNetlink@37- NFTablesProxyMode!33
NodeControllerLeaseCircuitBreaker@37- NodeDeclaredFeatures@35-!37 NodeInclusionPolicyInPodTopologySpread!33
NodeLifecycleConditions@37- NodeLogQuery!36 NodeSwap!34 NominatedNodeNameForExpectation@34- OpenAPIEnums
OpportunisticBatching@35- OrderedNamespaceDeletion@-36!34 PDBUnhealthyPodEvictionPolicy@-32!32
PLEGOnDemandRelist@36-!37 PersistentVolumeClaimUnusedSinceTime@36- PersistentVolumeLastPhaseTransitionTime@-32!32
PodAndContainerStatsFromCRI PodCertificateRequest@34- PodDeletionCost PodDisruptionConditions@-33!32
PodGroupPreemptionPolicy@37- PodIndexLabel@-34!32 PodLevelResourceManagers@36- PodLevelResources
PodLevelResourcesFixDefaulting@37- PodLevelResourcesFixKubeletQOSClass@37- PodLifecycleSleepAction@-36!34
PodLifecycleSleepActionAllowZero@-36!34 PodLogsQuerySplitStreams PodObservedGenerationTracking@33-!35
PodReadyToStartContainersCondition!37 PodSchedulingReadiness!32 PodTopologyLabelsAdmission@33- PodsAPI@36-
PortForwardWebsockets PreferSameTrafficDistribution@33-!35 PreventStaticPodAPIReferences@34-36
ProbeHostPodSecurityStandards@34-34!34 ProcMountType!36 QOSReserved RecoverVolumeExpansionFailure!34
RecursiveReadOnlyMounts!33 ReduceDefaultCrashLoopBackOffDecay@33- RelaxedDNSSearchValidation@-36!34
RelaxedEnvironmentVariableValidation!34 RelaxedServiceNameValidation@34-!37 ReloadKubeletClientCAFile@36-
ReloadKubeletServerCertificateFile RemainingItemCount@-32!32 RemoteRequestHeaderUID
ResilientWatchCacheInitialization@-36!34 ResourceHealthStatus ResourceHealthStatusMessage@36-
RestartAllContainersOnContainerExits@35- RetryGenerateName@-36!32 RotateKubeletServerCertificate
RuntimeClassInImageCriApi SELinuxChangePolicy!36 SELinuxMount SELinuxMountReadWriteOncePod!36
SchedulerAsyncAPICalls@34- SchedulerAsyncPreemption SchedulerPopFromBackoffQ@33- SchedulerPreQueueingHints@37-
SchedulerQueueingHints@-36!34 SeparateCacheWatchRPC~36 SeparateTaintEvictionController!34
ServiceAccountNodeAudienceRestriction ServiceAccountTokenJTI!32 ServiceAccountTokenNodeBinding!33
ServiceAccountTokenNodeBindingValidation!32 ServiceAccountTokenPodNodeInfo!32 ServiceCIDRStatusFieldWiping@36-
ServiceTrafficDistribution@-35!33 ShardedListAndWatch@36- SidecarContainers@-36!33 SizeBasedListCostEstimate@34-
SizeMemoryBackedVolumes@-34!32 StaleControllerConsistencyDaemonSet@36- StaleControllerConsistencyHPA@37-
StaleControllerConsistencyJob@36- StaleControllerConsistencyReplicaSet@36- StaleControllerConsistencyStatefulSet@36-
StatefulSetAutoDeletePVC@-34!32 StatefulSetRecreateStrategy@37- StatefulSetSemanticRevisionComparison@34-
StatefulSetStartOrdinal@-33!32 StorageCapacityScoring@33- StorageNamespaceIndex StorageVersionAPI StorageVersionHash
StorageVersionMigrator StreamingCollectionEncodingToJSON@33-36!34 StreamingCollectionEncodingToProtobuf@33-36!34
StrictCostEnforcementForVAP@-34!32 StrictCostEnforcementForWebhooks@-34!32 StrictIPCIDRValidation@33-
StructuredAuthenticationConfiguration@-36!34 StructuredAuthenticationConfigurationEgressSelector@34-
StructuredAuthenticationConfigurationJWKSMetrics@35- StructuredAuthorizationConfiguration@-35!32
SupplementalGroupsPolicy!35 SystemdWatchdog!35 TaintTolerationComparisonOperators@35-
TokenRequestServiceAccountUIDValidation@34- TopologyAwareHints@-35!33 TopologyAwareWorkloadScheduling@36-
TopologyManagerPolicyAlphaOptions TopologyManagerPolicyBetaOptions TopologyManagerPolicyOptions!36
TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
UnlockWhileProcessingFIFO@36- UserNamespacesHostNetworkSupport@35- UserNamespacesPodSecurityStandards@-34
UserNamespacesSupport!36 VolumeAttributesClass!36 VolumeBindMountOptions@37- VolumeCapacityPriority@-32
VolumeLimitScaling@35- WatchBookmark@-32!32 WatchCacheInitializationPostStartHook!37
WatchFromStorageWithoutResourceVersion@-35~33 WatchList WatchListClient WatchListCompression@37-
WebhookRoundTripLoadBalancing@37- WinDSR!34 WinOverlay!34 WindowsCPUAndMemoryAffinity WindowsGracefulNodeShutdown
WindowsHostNetwork WorkloadAwarePreemption@36-36 WorkloadWithJob@36-
"""


class Gate(NamedTuple):
    first: int
    last: int
    locked_since: int | None
    locked_to: bool


@cache
def gates() -> dict[str, Gate]:
    return dict(map(_gate, _GATES.split()))


def _gate(written: str) -> tuple[str, Gate]:
    for sign, value in (("!", True), ("~", False)):
        head, found, since = written.partition(sign)
        if found:
            name, gate = _gate(head)
            return name, gate._replace(locked_since=int(since), locked_to=value)
    name, _, span = written.partition("@")
    first, _, last = span.partition("-")
    return name, Gate(int(first or OLDEST), int(last or NEWEST), None, False)


def refusal(name: str, value: bool, minor: int) -> str:
    """The kubelet's own message; "": it takes the gate.

    >>> refusal("TopologyManagerPolicyOption", True, 36)
    'unrecognized feature gate: TopologyManagerPolicyOption'
    >>> refusal("TopologyManagerPolicyOptions", False, 36), refusal("TopologyManagerPolicyOptions", False, 35)
    ('cannot set feature gate TopologyManagerPolicyOptions to false, feature is locked to true', '')
    """
    release = min(max(minor, OLDEST), NEWEST)
    gate = gates().get(name)
    if gate is None or not gate.first <= release <= gate.last:
        return f"unrecognized feature gate: {name}"
    if gate.locked_since is not None and release >= gate.locked_since and value is not gate.locked_to:
        said = f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to"
        return f"{said} {str(gate.locked_to).lower()}"
    return ""


def refused_everywhere(name: str, value: bool) -> bool:
    """Whether no release that was read takes it."""
    return all(refusal(name, value, minor) for minor in range(OLDEST, NEWEST + 1))


def known_in(minor: int) -> list[str]:
    release = min(max(minor, OLDEST), NEWEST)
    return [name for name, gate in gates().items() if gate.first <= release <= gate.last]
