#include "ethernet/frame_filter.h"

#include <linux/pkt_cls.h>

#include <algorithm>

namespace paravane::ethernet {
namespace {

constexpr std::uint32_t kTagPresent =
    static_cast<std::uint32_t>(SKF_AD_OFF) + SKF_AD_VLAN_TAG_PRESENT;
constexpr std::uint32_t kTag = static_cast<std::uint32_t>(SKF_AD_OFF) + SKF_AD_VLAN_TAG;
constexpr std::uint32_t kVidOfTag = 0xFFF;
constexpr std::uint32_t kTaken = 0xFFFFFFFF;  // with the class of the filter itself

constexpr sock_filter step(std::uint16_t code, std::uint32_t operand, std::uint8_t if_true = 0) {
  return {.code = code, .jt = if_true, .jf = 0, .k = operand};
}
constexpr std::uint16_t kJumpIfEqual = BPF_JMP | BPF_JEQ | BPF_K;
constexpr std::uint16_t kAnd = BPF_ALU | BPF_AND | BPF_K;
constexpr std::uint16_t kReturn = BPF_RET | BPF_K;
constexpr std::uint32_t kAncillary = static_cast<std::uint32_t>(SKF_AD_OFF);

constexpr std::uint32_t bytes_of(std::uint16_t size) {
  return size == BPF_W ? 4 : size == BPF_H ? 2 : 1;
}

}  // namespace

void FrameFilter::load(std::uint16_t size, std::uint32_t offset) {
  if (offset < kAncillary) end_ = std::max(end_, offset + bytes_of(size));
  code_.push_back(step(static_cast<std::uint16_t>(BPF_LD | BPF_ABS | size), offset));
}

void FrameFilter::require(std::uint32_t value) {
  checks_.push_back(code_.size());
  code_.push_back(step(kJumpIfEqual, value));
}

FrameFilter& FrameFilter::byte_is(std::uint32_t offset, std::uint8_t value, std::uint8_t mask) {
  load(BPF_B, offset);
  if (mask != 0xFF) code_.push_back(step(kAnd, mask));
  require(value);
  return *this;
}

FrameFilter& FrameFilter::half_is(std::uint32_t offset, std::uint16_t value, std::uint16_t mask) {
  load(BPF_H, offset);
  if (mask != 0xFFFF) code_.push_back(step(kAnd, mask));
  require(value);
  return *this;
}

FrameFilter& FrameFilter::mac_is(std::uint32_t offset, const MacBytes& mac) {
  for (std::uint32_t i = 0; i < mac.size(); i += 2) {
    half_is(offset + i, static_cast<std::uint16_t>((mac[i] << 8) | mac[i + 1]));
  }
  return *this;
}

FrameFilter& FrameFilter::has_no_tag() {
  load(BPF_W, kTagPresent);
  require(0);
  return *this;
}

FrameFilter& FrameFilter::has_no_vlan() {
  load(BPF_W, kTagPresent);
  // What the kernel says of the tag of a frame without one is left from before.
  code_.push_back(step(kJumpIfEqual, 0, 3));
  load(BPF_W, kTag);
  code_.push_back(step(kAnd, kVidOfTag));
  require(0);
  return *this;
}

std::vector<sock_filter> FrameFilter::program() const {
  std::vector<sock_filter> all = code_;
  all.push_back(step(kReturn, kTaken));
  for (const std::size_t check : checks_) {
    all[check].jf = static_cast<std::uint8_t>(all.size() - check - 1);
  }
  all.push_back(step(kReturn, 0));
  return all;
}

// The result of a program for a frame that it takes is TC_ACT_UNSPEC as a verdict.
static_assert(kTaken == static_cast<std::uint32_t>(TC_ACT_UNSPEC));

std::vector<sock_filter> FrameFilter::drop_all_but(std::span<const FrameFilter> filters) {
  std::vector<sock_filter> all;
  for (const FrameFilter& filter : filters) {
    const std::vector<sock_filter> one = filter.program();
    // A look beyond the end of a frame would end all of the program with 0, which lets it pass.
    all.push_back(step(BPF_LD | BPF_W | BPF_LEN, 0));
    all.push_back({.code = BPF_JMP | BPF_JGE | BPF_K,
                   .jt = 0,
                   .jf = static_cast<std::uint8_t>(one.size() - 1),
                   .k = filter.end_});
    // Where its last step would say that the frame is another, the next filter looks.
    all.insert(all.end(), one.begin(), one.end() - 1);
  }
  all.push_back(step(kReturn, TC_ACT_SHOT));
  return all;
}

}  // namespace paravane::ethernet
