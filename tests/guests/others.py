"""Programs and suites of others that run here: which tests run each, and which package has
it. A run's report says of each what its version was and how it went; docs/conformance.md
has its table from there."""
import dataclasses
import fnmatch
import json
import os
import pathlib

from guest_facts import facts

KERNEL = "the guest's kernel"
ESX_LISA = "of 2021-02-19 (46629104fd70)"  # its newest state, and the last


@dataclasses.dataclass(frozen=True)
class Program:
    """`tests`: patterns of CLASS.TEST. `package`: a package of the guest's, or KERNEL; or
    `version`, where it is none. `why_not`: it does not run, and was not tried when any of
    `tests` was."""
    name: str
    tests: tuple
    package: str = ""
    version: str = ""
    why_not: str = ""


def lisa(case, *tests, why_not=""):
    return Program(f"ESX-LISA, {case}", tests or ("EsxLisa*.*",), version=ESX_LISA, why_not=why_not)


TRAFFIC = "BetweenTwo*", "InsideOneGuest"
PROGRAMS = [
    Program("ping-pongs of libibverbs", tuple(f"{c}.test_*_pingpong*" for c in TRAFFIC) + tuple(f"{c}.test_rc_pingpong" for c in TRAFFIC),
            "ibverbs-utils"),
    Program("ibv_devinfo", ("Devices.test_C77_ibv_devinfo_*",), "ibverbs-utils"),
    Program("ibstat", ("Devices.test_ibstat_*",), "infiniband-diags"),
    Program("rdma link", ("Devices.test_rdma_link_*",), "iproute2"),
    Program("rdma-core's test suite (below)", ("Pyverbs.*",), "python3-pyverbs"),
    Program("perftest", tuple(f"{c}.test_{prefix}ib_*" for c in TRAFFIC for prefix in ("", "C75_", "C78_")), "perftest"),
    Program("qperf", tuple(f"{c}.test_qperf_*" for c in TRAFFIC), "qperf"),
    Program("rping", tuple(f"{c}.test_C78_rping" for c in TRAFFIC), "rdmacm-utils"),
    Program("ucmatose", tuple(f"{c}.test_ucmatose" for c in TRAFFIC), "rdmacm-utils"),
    *(Program(name, (f"ConnectionManager.test_{name.replace(' ', '_')}*",), "rdmacm-utils")
      for name in ("udaddy", "rdma_server and client", "rstream", "riostream", "rcopy", "cmtime")),
    Program("NVMe over Fabrics (nvmet-rdma, nvme-rdma)", ("NvmeOverFabrics*.*",), KERNEL),
    Program("SRP (ib_srpt, ib_srp)", ("ScsiRdmaProtocol.*",), KERNEL),
    Program("NFS over RDMA (rpcrdma)", ("NfsOverRdma.*",), KERNEL),
    Program("UCX (ucx_perftest)", ("Middleware.test_ucx_*",), "ucx-utils"),
    Program("Open MPI over UCX", ("Middleware.test_open_mpi_over_ucx",), "openmpi-bin"),
    Program("Open MPI over openib, as VMware says", ("Middleware.test_open_mpi_over_openib_*",), "openmpi-bin"),
    Program("rsockets under netcat", ("Middleware.test_netcat_*",), "librdmacm1"),
    Program("rsockets under iperf 2", ("Middleware.test_iperf_*",), "librdmacm1"),
    lisa("rdma_boot_check", "EsxLisaOnOneHost.test_rdma_boot_check"),
    lisa("rdma_check_Ibstat", "EsxLisaOnOneHost.test_rdma_check_ibstat"),
    lisa("rdma_reload_vmx_pvrdma", "EsxLisaOnOneHost.test_rdma_reload_vmx_pvrdma"),
    lisa("rdma_reload_vmxnet3", "EsxLisaOnOneHost.test_rdma_reload_vmxnet3"),
    lisa("rdma_tools_test_same_host", "EsxLisaOnOneHost.test_rdma_tools_test_same_host"),
    lisa("rdma_tools_test_diff_host", "EsxLisaOnTwoHosts.test_rdma_tools_test_diff_host"),
    lisa("rdma_ping_diff_host", "EsxLisaOnTwoHosts.test_rdma_ping_diff_host"),
    lisa("rdma_hot_add_nic", "RunByParavane.test_hot_add_*"),
    lisa("rdma_hot_remove", why_not="QEMU cannot unplug the device"),
    lisa("rdma_reboot_kernel-debug", why_not="Debian has no such kernel"),
]


def has(program, name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in program.tests)


def version_of(program):
    if program.package == KERNEL:
        return f"{facts['release']} ({facts['kernel']})"
    return program.version or f"{program.package} {facts['packages'].get(program.package, 'of an unknown version')}"


def rows(cases):
    """What a report says of each program that any of the cases ran."""
    found = []
    for program in PROGRAMS:
        verdicts = {case["name"]: case["verdict"] for case in cases if has(program, case["name"])}
        if not verdicts:
            continue
        bad = sorted(name for name, verdict in verdicts.items() if verdict != "passed")
        verdict = f"not run: {program.why_not}" if program.why_not else f"**fail**: {', '.join(bad)}" if bad else "pass"
        found.append({"program": program.name, "version": version_of(program), "tests": 0 if program.why_not else len(verdicts),
                      "verdict": verdict})
    return found


def report(cases):
    """For docs/conformance.md, where the check asks for it."""
    target = os.environ.get("PARAVANE_REPORT")
    if target:
        about = {"kernel": facts["kernel"], "release": facts["release"], "programs": rows(cases)}
        pathlib.Path(f"{target}-programs.json").write_text(json.dumps(about, indent=1))
