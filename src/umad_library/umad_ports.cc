// The functions of libibumad about open ports, agents and MADs, by their C names.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

#include "umad_library/adapters.h"
#include "umad_library/addresses.h"
#include "umad_library/agent_wishes.h"
#include "umad_library/entry_points.h"
#include "umad_library/mad_flow.h"
#include "umad_library/notice.h"
#include "umad_library/resolve.h"
#include "umad_library/umad_abi.h"

namespace paravane::umad_library {
namespace {

// What rdma-core says if its kernel module is not loaded.
int open_error_of(int error) {
  switch (error) {
    case ENOENT:
    case ECONNREFUSED: return -EOPNOTSUPP;
    case ENODEV: return -EINVAL;
    default: return -EIO;
  }
}

int open_port(const char* ca_name, int portnum, Need need) {
  return guarded([&](NotCancelled&) {
    Process& all = process();
    // Says what is wrong with the door, if something is.
    if (const auto era = all.door.era(); !era) {
      return failed(era.error(), open_error_of(era.error()));
    }
    const auto name = resolve(all.door, ca_name, &portnum, need);
    if (!name) return failed(ENODEV);
    const auto fd = all.ports.open(*name, portnum);
    if (!fd) return failed(fd.error(), open_error_of(fd.error()));
    debug("umad_open_port",
          "opened " + *name + " port " + std::to_string(portnum) + " fd " + std::to_string(*fd));
    return *fd;
  });
}

// The agent's number, or an errno below zero.
int register_agent(int fd, const umad::AgentWish& wish) {
  Process& all = process();
  const auto port = all.ports.find(fd);
  if (!port) return -EBADF;
  if (wish.rmpp_version > 1) return -EINVAL;
  const auto agent = all.ports.add_agent(*port, wish);
  const int result = agent ? static_cast<int>(*agent) : -agent.error();
  debug("umad_register", "fd " + std::to_string(fd) + " class " +
                             std::to_string(wish.management_class) + " version " +
                             std::to_string(wish.class_version) + ": " + std::to_string(result));
  return result;
}

int register_or_eperm(int fd, const umad::AgentWish& wish) {
  const int agent = register_agent(fd, wish);
  return agent >= 0 ? agent : failed(-agent, -EPERM);
}

std::span<std::byte> mad_behind(void* umad, int length) {
  return {static_cast<std::byte*>(umad) + kHeaderBytes,
          static_cast<std::size_t>(std::max(length, 0))};
}

// poll() of a descriptor that this library did not open.
int poll_other(int fd, int timeout_ms, NotCancelled& thread) {
  const int count = thread.wait(fd, POLLIN, timeout_ms);
  if (count > 0) return 0;
  return count == 0 ? -ETIMEDOUT : -EIO;
}

int receive_result(const OpenPort::Received& received, int* length) {
  switch (received.error) {
    case 0: *length = static_cast<int>(received.length); return static_cast<int>(received.agent);
    case ENOSPC:
    case EINVAL: *length = static_cast<int>(received.length); return failed(received.error);
    case EINTR: return failed(EINTR, -EIO);
    default: return failed(received.error);
  }
}

}  // namespace

UMAD_EXPORT int umad_init() {
  return 0;
}

UMAD_EXPORT int umad_done() {
  return 0;
}

// ---- Ports ----

UMAD_EXPORT int umad_open_port(const char* ca_name, int portnum) {
  return open_port(ca_name, portnum, Need::kAnyPort);
}

UMAD_EXPORT int umad_open_smi_port(const char* ca_name, int portnum) {
  return open_port(ca_name, portnum, Need::kSmi);
}

UMAD_EXPORT int umad_close_port(int portid) {
  return guarded([&](NotCancelled&) {
    if (!process().ports.close(portid)) ::close(portid);
    return 0;
  });
}

// A subnet manager opens this file and keeps it open for as long as it manages. The door takes the
// question itself as the statement (open_ports.h), so any file that can be opened will do.
UMAD_EXPORT int umad_get_issm_path(const char* ca_name, int portnum, char path[], int max) {
  return guarded([&](NotCancelled&) {
    Process& all = process();
    const auto name = resolve(all.door, ca_name, &portnum);
    if (!name) return failed(ENODEV);
    umad_port_t port{};
    if (load_port(all.door, *name, portnum, port) != 0) return failed(EINVAL);
    release_port(port);
    all.ports.wish_manager(*name, portnum);
    if (max > 0) std::snprintf(path, static_cast<std::size_t>(max), "/dev/null");
    return 0;
  });
}

UMAD_EXPORT int umad_get_fd(int portid) {
  return portid;
}

// ---- Agents ----

UMAD_EXPORT int umad_register(int portid, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
                              long method_mask[16 / sizeof(long)]) {
  return guarded([&](NotCancelled&) {
    return register_or_eperm(portid,
                             plain_wish(mgmt_class, mgmt_version, rmpp_version, method_mask));
  });
}

UMAD_EXPORT int umad_register_oui(int portid, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
                                  long method_mask[16 / sizeof(long)]) {
  return guarded([&](NotCancelled&) {
    if (!is_vendor_with_oui(mgmt_class)) return failed(EINVAL);
    return register_or_eperm(portid, vendor_wish(mgmt_class, rmpp_version, oui, method_mask));
  });
}

// Errors are above zero here. The flags that are known come back with them; rdma-core's library
// says none.
UMAD_EXPORT int umad_register2(int port_fd, struct umad_reg_attr* attr, uint32_t* agent_id) {
  if (attr == nullptr || agent_id == nullptr) return EINVAL;
  return guarded(
      [&](NotCancelled&) {
        const auto wish = wish_of(*attr);
        if (!wish && has_bad_oui(*attr)) return EINVAL;
        const int agent = wish ? register_agent(port_fd, *wish) : -EINVAL;
        if (agent >= 0) {
          *agent_id = static_cast<std::uint32_t>(agent);
          return 0;
        }
        if (agent == -EINVAL) attr->flags = 0;
        return failed(-agent, -agent);
      },
      ENOMEM);
}

UMAD_EXPORT int umad_unregister(int portid, int agentid) {
  return guarded([&](NotCancelled&) {
    const auto port = process().ports.find(portid);
    if (!port) return failed(EBADF, -1);
    const bool is_done =
        agentid >= 0 && process().ports.remove_agent(*port, static_cast<std::uint32_t>(agentid));
    return is_done ? 0 : failed(EINVAL, -1);
  });
}

// ---- MADs ----

UMAD_EXPORT int umad_send(int portid, int agentid, void* umad, int length, int timeout_ms,
                          int retries) {
  return guarded([&](NotCancelled&) {
    auto& header = *static_cast<ib_user_mad*>(umad);
    header.agent_id = static_cast<std::uint32_t>(agentid);
    header.timeout_ms = static_cast<std::uint32_t>(timeout_ms);
    header.retries = static_cast<std::uint32_t>(retries);
    if (debug_level() > 1) show_header(header);
    const auto port = process().ports.find(portid);
    const int error = port ? send(process().ports, *port, header, mad_behind(umad, length)) : EBADF;
    if (error == 0) return 0;
    debug("umad_send", std::string("not sent: ") + std::strerror(error));
    return failed(error, -EIO);
  });
}

UMAD_EXPORT int umad_recv(int portid, void* umad, int* length, int timeout_ms) {
  if (umad == nullptr || length == nullptr) return failed(EINVAL);
  return guarded([&](NotCancelled& thread) {
    const auto port = process().ports.find(portid);
    if (!port) return failed(EBADF);
    const auto received = receive(process().ports, *port, *static_cast<ib_user_mad*>(umad),
                                  mad_behind(umad, *length), timeout_ms, thread);
    return receive_result(received, length);
  });
}

UMAD_EXPORT int umad_poll(int portid, int timeout_ms) {
  return guarded([&](NotCancelled& thread) {
    const auto port = process().ports.find(portid);
    if (!port) return poll_other(portid, timeout_ms, thread);
    const int error = wait_for_mad(process().ports, *port, timeout_ms, thread);
    if (error == 0) return 0;
    return error == ETIMEDOUT ? -ETIMEDOUT : failed(error, -EIO);
  });
}

}  // namespace paravane::umad_library
