// NoMoreDescriptors: while it lives, this process opens nothing. AllDescriptorsTaken: it opens
// as many as it closes.

#pragma once

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

// The undefined-behaviour sanitizer takes a descriptor for its first look at an object's class,
// and fails without: what makes objects meanwhile is tested as it is shipped.
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
#define PARAVANE_NEEDS_DESCRIPTORS 1
#endif
#endif
#ifndef PARAVANE_NEEDS_DESCRIPTORS
#define PARAVANE_NEEDS_DESCRIPTORS 0
#endif

namespace paravane {

class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    // What a log line is made with has been seen by the sanitizer then.
    static_cast<void>(fmt::format("{}{}", std::string("a"), "b"));
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

 private:
  rlimit before_{};
};

// All numbers below the limit are in use, as in a process that has run into it.
class AllDescriptorsTaken {
 public:
  AllDescriptorsTaken() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest = ::dup(STDERR_FILENO);
    ::close(lowest);
    const rlimit full{.rlim_cur = static_cast<rlim_t>(lowest), .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &full);
  }
  ~AllDescriptorsTaken() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  AllDescriptorsTaken(const AllDescriptorsTaken&) = delete;
  AllDescriptorsTaken& operator=(const AllDescriptorsTaken&) = delete;

 private:
  rlimit before_{};
};

}  // namespace paravane
