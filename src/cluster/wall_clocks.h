// Rules for the wall clocks of hosts, which decide whether a certificate is valid. They define the
// greatest permitted difference between two clocks, and the format in which a time is printed.
//
// Stateless, any thread.

#pragma once

#include <chrono>
#include <string>

#include "authority/certificate.h"

namespace paravane::cluster {

// The largest difference between two clocks. The authority dates certificates back by this time.
inline constexpr std::chrono::minutes kClocksApart{5};
inline constexpr const char* kSetClock =
    "Set the clock of this host, for example with timedatectl set-ntp true, and try again.";

bool are_apart(authority::Seconds one, authority::Seconds other);
// "2026-11-26 02:15:35 UTC"; a time that no calendar has is shown as the nearest that one has.
std::string print_time(authority::Seconds time);

}  // namespace paravane::cluster
