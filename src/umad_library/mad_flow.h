// Sends and receives MADs for a program, also while the daemon is away.
//
// What is sent while it is away is accepted, as a network does: a MAD with a time limit comes back
// with ETIMEDOUT when its time is over, one without is lost. A program that is told of an error
// instead gives up (libibmad) or takes the request for failed at once and floods its log (OpenSM).
//
// umad_recv() and umad_poll() wait for the daemon as they wait for a MAD: until their own limit.
//
// Any thread.

#pragma once

#include <cstddef>
#include <span>

#include "umad_library/cancellation.h"
#include "umad_library/open_port.h"
#include "umad_library/open_ports.h"

namespace paravane::umad_library {

// 0, or the errno of OpenPort::send() other than EPIPE.
int send(OpenPorts& ports, OpenPort& port, const ib_user_mad& header,
         std::span<const std::byte> mad);

// As OpenPort::receive(). Instead of EPIPE: EAGAIN (the limit is 0), ETIMEDOUT (it has passed),
// EINTR (a signal). `timeout_ms`: negative: no limit.
OpenPort::Received receive(OpenPorts& ports, OpenPort& port, ib_user_mad& header,
                           std::span<std::byte> room, int timeout_ms, NotCancelled& thread);

// Waits for a MAD, which stays. 0, ETIMEDOUT, EINTR, EBADF.
int wait_for_mad(OpenPorts& ports, OpenPort& port, int timeout_ms, NotCancelled& thread);

}  // namespace paravane::umad_library
