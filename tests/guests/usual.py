"""What the usual run asks of real guests: of each class, patterns of its tests. All of them run with --all, or when -k
names them.

The usual run shows that each thing works, once, on the way that most would take. What repeats it (with other options, for
longer, on more guests, over another path that the device tests walk too) is for --all. A class that is not here runs, and
Others complains.
"""
import fnmatch

ALL = "*"
NONE = ""  # with --all

USUAL = {
    # RDMA between VMs
    "BetweenTwoGuests": "C7* every_operation* ucmatose qperf* ib_write_bw_64_qps ib_send_bw_datagrams ib_send_bw_shared_receives",
    "BetweenTwoHosts": "C78_rping C78_ib_write_bw_1_qp C75_ib_atomic_bw_fetch_and_add every_operation* a_vm_that_moves* addresses_are_found*"
                       " path_list_names* vds_list*",
    "BetweenTwoHostsRoceV1": NONE,  # HardwareVersions
    "InsideOneGuest": NONE,
    "FiveGuests": NONE,
    "EightGuestsOfFourHosts": NONE,
    "Devices": ALL,
    "DeviceName": NONE,
    "EightAdapters": NONE,
    "HardwareVersions": "v1_and_v2* v1_between* version_13*",
    "Shapes": NONE,
    "Quotas": "1_* 2_*",
    "Thousands": NONE,
    "Signals": NONE,
    "Exitless": "message_counters*",
    "LostArms": NONE,

    # Programs of others
    "ConnectionManager": "rdma_server_and_client rstream_verified*",
    "Pyverbs": "1_*",
    "Middleware": NONE,
    "NvmeOverFabrics": "1_* 2_* 3_*",
    "NvmeOverFabricsBetweenTwoHosts": NONE,
    "ScsiRdmaProtocol": NONE,
    "NfsOverRdma": NONE,
    "EsxLisaOnOneHost": NONE,
    "EsxLisaOnTwoHosts": NONE,
    "Others": ALL,

    # Lives, faults
    "Life": "C77_driver_unloaded* C79* C80_hard_reset*",
    "DaemonStop": NONE,
    "Upgraded": ALL,
    "UpgradedAmongMishaps": NONE,
    "UpgradedBesideANativeEndpoint": ALL,
    "LoadedStates": ALL,
    "Crashed": ALL,
    "CrashedUnderMany": ALL,
    "CrashedInMaps": NONE,
    "Poison": ALL,
    "UpgradedBetweenTwoHosts": ALL,
    "Events": "new_address* port_goes*",
    "DeviceIsTakenAway": NONE,
    "HostFaults": "a_daemon_is_killed* frames_are_lost",
    "Impaired": "a_receiver* loss_of_everything*",
    "ImpairedBetweenTwoHosts": NONE,

    # Native RoCE endpoints
    "NativeEndpoint": ALL,
    "NativeMerging": NONE,  # of Debian 13, whose kernel can do it
    "NativeRouted": "1_* 2_* 4_* 5_*",  # those that follow need one another
    "NativeHost": NONE,
    "NativeFaults": "1_*",
    "NativeLargeFrames": NONE,
    "NativeMishaps": NONE,
    "NativePyverbs": NONE,
    "NvmeOverFabricsOfANativeTarget": NONE,
    "NvmeOverFabricsToANativeInitiator": NONE,

    # RDMA adapters as uplinks
    "HcaTrunk": ALL,
    "HcaTrunkOnANicOfItsOwn": NONE,
    "HcaTrunkBetweenTwoHosts": "1_it_is_said* 2_every* 2_memory* 3_*",

    # An InfiniBand port as uplink
    "Ipoib": ALL,

    # Storage adapters of InfiniBand ports
    "SrpLogin": ALL,
    "SrpLuns": ALL,
    "SrpDisk": ALL,
    "SrpDiskOfAnotherHost": "2_*",
    "SrpFailover": "1_* 2_* 3_*",
    "SrpNative": ALL,
    "SrpAllPathsLost": "2_* 3_*",
    "SrpTargetsLost": "1_*",
    "MellanoxGuideStorage": "M4_4_5_*_port",

    # What operators do
    "AcceptanceSequence": ALL,
    "Demo": "on_one_host",
    "RunByParavane": "check_of* hot_add* rdma_between* stop_powers*",
    "PowerWithoutGuests": ALL,
    "Libvirt": ALL,
    "LockedMemory": NONE,
    "Machine": ALL,
    "Observed": "counters_move*",
    "ObservedHosts": NONE,
    "RulesOfVsphere": NONE,
    "Sniffed": "every_operation_over_v2_and_ipv4 refusals",
    "VlanSwitch": ALL,
    "Pages": "every_page*",
    "Conventions": ALL,
    "TwoHostsGuide": NONE,  # AcceptanceSequence
    "NativeEndpointsGuide": ALL,
    "ConceptsGuide": NONE,
    "VerbsAndLimitsGuide": NONE,
    "FourHostsGuide": NONE,
}


def is_usual(name):
    """`name`: CLASS.test_NAME."""
    one, _, test = name.partition(".test_")
    return any(fnmatch.fnmatchcase(test, pattern) for pattern in USUAL.get(one, ALL).split())
