#include "subnet/port.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <utility>

#include "wire/infiniband/local_route.h"

namespace paravane::subnet {
namespace {

using wire::infiniband::Mtu;
using wire::infiniband::PartitionBlock;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;

constexpr std::uint8_t kFourLanes = 2;  // as a bit of link widths
constexpr std::uint8_t kOneLane = 1;
constexpr std::uint8_t kAllWidths = 0xFF;
constexpr std::uint8_t kAllSpeeds = 0x0F;
constexpr std::uint8_t kOneVirtualLane = 1;
constexpr std::uint8_t kMostLmc = 7;
constexpr std::uint8_t kEnforcesInBit = 0x08;  // of lanes_enforcement
constexpr std::uint8_t kEnforcesOutBit = 0x04;
constexpr std::uint8_t kMostFilters = 0x0F;

constexpr std::uint8_t high(std::uint8_t byte) {
  return byte >> 4;
}
constexpr std::uint8_t low(std::uint8_t byte) {
  return byte & 0x0F;
}
constexpr std::uint8_t pair(std::uint8_t high, std::uint8_t low) {
  return static_cast<std::uint8_t>((high << 4) | (low & 0x0F));
}
void set_high(std::uint8_t& byte, std::uint8_t value) {
  byte = pair(value, low(byte));
}
void set_low(std::uint8_t& byte, std::uint8_t value) {
  byte = pair(high(byte), value);
}

// Every speed up to the port's own.
std::uint8_t speeds_up_to(Speed speed) {
  return static_cast<std::uint8_t>((static_cast<unsigned>(speed) << 1) - 1);
}

void count_up(Be16& counter) {
  if (counter.get() != UINT16_MAX) counter.set(static_cast<std::uint16_t>(counter.get() + 1));
}

}  // namespace

Port::Port(PortNumber number, const PortAbilities& abilities, Listener& listener)
    : number_(number),
      abilities_(abilities),
      listener_(listener),
      partitions_(abilities.partitions) {
  if (!partitions_.empty()) partitions_[0] = wire::infiniband::kDefaultPartition;
  info_.gid_prefix.set(abilities.has_lid ? 0xFE80'0000'0000'0000 : 0);
  info_.capabilities.set(abilities.capabilities);
  info_.width_enabled = info_.width_supported = kOneLane | kFourLanes;
  info_.width_active = kFourLanes;
  const std::uint8_t speeds = speeds_up_to(abilities.speed);
  info_.speed_supported_state = pair(speeds, static_cast<std::uint8_t>(PortState::kDown));
  info_.physical_state_default = pair(static_cast<std::uint8_t>(PhysicalState::kPolling),
                                      static_cast<std::uint8_t>(PhysicalState::kPolling));
  info_.speed_active_enabled = pair(static_cast<std::uint8_t>(abilities.speed), speeds);
  info_.mtu_master_level = pair(static_cast<std::uint8_t>(abilities.mtu), 0);
  info_.lanes_init_type = pair(kOneVirtualLane, 0);
  info_.init_reply_mtu = pair(0, static_cast<std::uint8_t>(abilities.mtu));
  info_.lanes_enforcement = pair(kOneVirtualLane, 0);
  info_.guid_entries = abilities.has_lid ? 1 : 0;
  info_.response_time = 18;  // 4.096 us * 2^18: a second
  info_.reregister_timeout = 18;
  info_.error_limits = 0x88;
  info_.local_port = number;
}

std::uint16_t Port::set_info(const PortInfo& wish) {
  if (const std::uint16_t status = judge(wish); status != 0) return status;
  const std::uint16_t lid_before = lid();
  if (abilities_.has_lid) take_identity(wish);
  take_link(wish);
  if (lid() != lid_before) listener_.on_port_change(number_);
  if (abilities_.has_lid && (wish.reregister_timeout & wire::infiniband::kRegisterAgainBit) != 0)
    listener_.on_register_again(number_);
  follow_orders(wish);
  return 0;
}

// What cannot be is refused as a whole (14.2.5.6; a status of 13.4.7).
std::uint16_t Port::judge(const PortInfo& wish) const {
  constexpr std::uint16_t kRefused = wire::infiniband::mad_status::kBadField;
  const auto wanted = static_cast<PortState>(low(wish.speed_supported_state));
  const PortState now = state();
  const bool steps =
      wanted == PortState::kNoChange || wanted == PortState::kDown ||
      (wanted == PortState::kArmed &&
       (now == PortState::kInitialize || now == PortState::kArmed)) ||
      (wanted == PortState::kActive && (now == PortState::kArmed || now == PortState::kActive));
  if (!steps) return kRefused;
  const std::uint8_t physical = high(wish.physical_state_default);
  if (physical > static_cast<std::uint8_t>(PhysicalState::kDisabled)) return kRefused;
  const std::uint8_t when_down = low(wish.physical_state_default);
  if (when_down > static_cast<std::uint8_t>(PhysicalState::kPolling)) return kRefused;
  const std::uint8_t width = wish.width_enabled;
  if (width != 0 && width != kAllWidths && (width & ~info_.width_supported) != 0) return kRefused;
  const std::uint8_t speed = low(wish.speed_active_enabled);
  if (speed != 0 && speed != kAllSpeeds && (speed & ~high(info_.speed_supported_state)) != 0)
    return kRefused;
  const std::uint8_t mtu = high(wish.mtu_master_level);
  if (mtu > low(info_.init_reply_mtu)) return kRefused;
  if (high(wish.lanes_enforcement) > kOneVirtualLane) return kRefused;
  if (!abilities_.has_lid) return 0;
  const std::uint16_t lid = wish.lid.get();
  if (lid != 0 && !wire::infiniband::is_unicast_lid(lid)) return kRefused;
  const std::uint16_t master = wish.master_lid.get();
  if (master != 0 && !wire::infiniband::is_unicast_lid(master)) return kRefused;
  const unsigned lmc = wish.protection_lmc & kMostLmc;
  if (number_ == 0 && lmc != 0) return kRefused;  // 14.2.5.6: of a base port 0
  if (lid != 0 && (lid & ((1U << lmc) - 1)) != 0) return kRefused;
  return 0;
}

void Port::take_identity(const PortInfo& wish) {
  info_.management_key = wish.management_key;
  info_.gid_prefix = wish.gid_prefix;
  info_.lid = wish.lid;
  info_.master_lid = wish.master_lid;
  info_.key_lease_s = wish.key_lease_s;
  info_.protection_lmc = wish.protection_lmc & 0xC7;
  set_low(info_.mtu_master_level, low(wish.mtu_master_level));
  info_.key_violations = wish.key_violations;
  info_.partition_violations = wish.partition_violations;
  info_.qkey_violations = wish.qkey_violations;
  info_.reregister_timeout = wish.reregister_timeout & 0x1F;
  set_high(info_.init_reply_mtu, 0);
}

void Port::take_link(const PortInfo& wish) {
  if (wish.width_enabled == kAllWidths)
    info_.width_enabled = info_.width_supported;
  else if (wish.width_enabled != 0)
    info_.width_enabled = wish.width_enabled;
  const std::uint8_t speed = low(wish.speed_active_enabled);
  if (speed == kAllSpeeds)
    set_low(info_.speed_active_enabled, high(info_.speed_supported_state));
  else if (speed != 0)
    set_low(info_.speed_active_enabled, speed);
  if (high(wish.mtu_master_level) != 0)
    set_high(info_.mtu_master_level, high(wish.mtu_master_level));
  if (low(wish.physical_state_default) != 0)
    set_low(info_.physical_state_default, low(wish.physical_state_default));
  set_low(info_.lanes_enforcement, low(wish.lanes_enforcement) & kMostFilters);
  info_.lane_high_limit = wish.lane_high_limit;
  info_.stall_head_life = wish.stall_head_life;
  info_.error_limits = wish.error_limits;
}

void Port::follow_orders(const PortInfo& wish) {
  const auto physical = static_cast<PhysicalState>(high(wish.physical_state_default));
  const auto wanted = static_cast<PortState>(low(wish.speed_supported_state));
  if (number_ == 0) return;  // 14.2.5.6: a base port 0 is always active
  if (physical == PhysicalState::kDisabled || physical == PhysicalState::kSleep) {
    link_down();
    set_physical_state(physical);
    listener_.on_link_order(number_);
  } else if (physical == PhysicalState::kPolling ||
             (wanted == PortState::kDown && !is_disabled())) {
    link_down();
    set_physical_state(physical == PhysicalState::kPolling ? physical : state_when_down());
    listener_.on_link_order(number_);
  } else if (wanted == PortState::kArmed || wanted == PortState::kActive) {
    if (state() == wanted) return;
    set_state(wanted);
    listener_.on_port_change(number_);
  }
}

bool Port::read_partitions(std::size_t block, PartitionBlock& out) const {
  const std::size_t first = block * out.size();
  if (first >= partitions_.size()) return false;
  out = {};
  for (std::size_t i = 0; i < out.size() && first + i < partitions_.size(); ++i)
    out[i].set(partitions_[first + i]);
  return true;
}

bool Port::set_partitions(std::size_t block, const PartitionBlock& keys) {
  const std::size_t first = block * keys.size();
  if (first >= partitions_.size()) return false;
  for (std::size_t i = 0; i < keys.size() && first + i < partitions_.size(); ++i)
    partitions_[first + i] = keys[i].get();
  listener_.on_port_change(number_);
  return true;
}

PortState Port::state() const {
  return static_cast<PortState>(low(info_.speed_supported_state));
}

PhysicalState Port::physical_state() const {
  return static_cast<PhysicalState>(high(info_.physical_state_default));
}

bool Port::receives_data() const {
  return state() == PortState::kArmed || is_active();
}

std::uint16_t Port::lids() const {
  return static_cast<std::uint16_t>(1U << (info_.protection_lmc & kMostLmc));
}

bool Port::has_lid(std::uint16_t lid) const {
  const std::uint16_t ours = info_.lid.get();
  return ours != 0 && lid >= ours && lid - ours < lids();
}

std::uint16_t Port::lid_with(std::uint8_t path_bits) const {
  return static_cast<std::uint16_t>(lid() | (lid() == 0 ? 0 : path_bits & (lids() - 1)));
}

std::uint8_t Port::path_bits_of(std::uint16_t lid) const {
  return static_cast<std::uint8_t>(has_lid(lid) ? lid - this->lid() : 0);
}

wire::infiniband::Gid Port::gid() const {
  const std::array<Be64, 2> words{info_.gid_prefix, Be64(guid())};
  return std::bit_cast<wire::infiniband::Gid>(words);
}

bool Port::fits(std::size_t packet_bytes) const {
  return packet_bytes <= wire::infiniband::bytes_of(mtu()) + wire::infiniband::kMostHeaderBytes;
}

Mtu Port::mtu() const {
  return static_cast<Mtu>(high(info_.mtu_master_level));
}

bool Port::enforces_in() const {
  return (info_.lanes_enforcement & kEnforcesInBit) != 0;
}

bool Port::enforces_out() const {
  return (info_.lanes_enforcement & kEnforcesOutBit) != 0;
}

std::uint16_t Port::partition(std::size_t index) const {
  return index < partitions_.size() ? partitions_[index] : 0;
}

std::uint16_t Port::partition_for(std::uint16_t key) const {
  const auto found = std::ranges::find_if(
      partitions_, [key](std::uint16_t ours) { return wire::infiniband::let_pass(ours, key); });
  return found == partitions_.end() ? 0 : *found;
}

std::uint16_t Port::partition_index(std::uint16_t key) const {
  const std::uint16_t ours = partition_for(key);
  if (ours == 0) return 0;
  return static_cast<std::uint16_t>(std::ranges::find(partitions_, ours) - partitions_.begin());
}

bool Port::lets_pass(std::uint16_t key) const {
  return partition_for(key) != 0;
}

bool Port::is_in_partition(std::uint16_t key) const {
  const auto number_of = [](std::uint16_t one) { return one & wire::infiniband::kPartitionMask; };
  return number_of(key) != 0 &&
         std::ranges::find(partitions_, number_of(key), number_of) != partitions_.end();
}

void Port::set_manager(bool is_manager) {
  const std::uint32_t others = info_.capabilities.get() & ~wire::infiniband::capability::kIsManager;
  info_.capabilities.set(others | (is_manager ? wire::infiniband::capability::kIsManager : 0));
}

void Port::count_key_violation() {
  count_up(info_.key_violations);
}

void Port::count_partition_violation() {
  count_up(info_.partition_violations);
}

void Port::count_qkey_violation() {
  count_up(info_.qkey_violations);
}

void Port::heard_wrong_key() {
  if (lease_end_ == kNever && info_.key_lease_s.get() != 0) lease_begins_ = true;
}

void Port::heard_right_key() {
  lease_begins_ = false;
  lease_end_ = kNever;
}

void Port::on_time(Instant now) {
  if (std::exchange(lease_begins_, false))
    lease_end_ = now + std::chrono::seconds(info_.key_lease_s.get());
  if (now < lease_end_) return;
  lease_end_ = kNever;
  info_.protection_lmc &= 0x3F;
}

void Port::link_up(Speed speed) {
  set_physical_state(PhysicalState::kLinkUp);
  set_high(info_.speed_active_enabled, static_cast<std::uint8_t>(speed));
  set_state(number_ == 0 ? PortState::kActive : PortState::kInitialize);
  listener_.on_port_change(number_);
}

PhysicalState Port::state_when_down() const {
  return static_cast<PhysicalState>(low(info_.physical_state_default));
}

void Port::link_down() {
  const bool was_up = !is_down();
  if (was_up && !is_disabled()) set_physical_state(state_when_down());
  set_state(PortState::kDown);
  if (!was_up) return;
  ++totals_.link_downed;
  listener_.on_port_change(number_);
}

void Port::heard_data() {
  if (state() != PortState::kArmed) return;
  set_state(PortState::kActive);
  listener_.on_port_change(number_);
}

// ---- From one engine to the next ----

PortImage Port::image(Instant now) const {
  PortImage image{.info = info_, .partitions = partitions_, .totals = totals_};
  if (lease_begins_) image.lease_left = std::chrono::seconds(info_.key_lease_s.get());
  if (lease_end_ != kNever) image.lease_left = std::max(lease_end_ - now, Duration::zero());
  return image;
}

// As a Set without an order, which is how it is taken over.
PortInfo Port::wish_of(const PortImage& image) {
  PortInfo wish = image.info;
  set_low(wish.speed_supported_state, static_cast<std::uint8_t>(PortState::kNoChange));
  set_high(wish.physical_state_default, static_cast<std::uint8_t>(PhysicalState::kNoChange));
  return wish;
}

bool Port::can_be(const PortImage& image) const {
  if (image.partitions.size() != partitions_.size()) return false;
  if (judge(wish_of(image)) != 0) return false;
  const auto link = static_cast<PortState>(low(image.info.speed_supported_state));
  const auto physical = static_cast<PhysicalState>(high(image.info.physical_state_default));
  if (link == PortState::kNoChange || link > PortState::kActive) return false;
  const bool has_no_link = link == PortState::kDown;
  const bool is_at_rest = physical == PhysicalState::kSleep ||
                          physical == PhysicalState::kPolling ||
                          physical == PhysicalState::kDisabled;
  if (has_no_link ? !is_at_rest : physical != PhysicalState::kLinkUp) return false;
  if (number_ == 0 && link != PortState::kActive) return false;
  const std::uint8_t speed = high(image.info.speed_active_enabled);
  if (!std::has_single_bit(speed) || (speed & ~high(info_.speed_supported_state)) != 0)
    return false;
  if (high(image.info.mtu_master_level) == 0) return false;
  return !image.lease_left ||
         *image.lease_left <= std::chrono::seconds(image.info.key_lease_s.get());
}

void Port::adopt(const PortImage& image, Instant now) {
  const PortInfo wish = wish_of(image);
  if (abilities_.has_lid) take_identity(wish);
  take_link(wish);
  partitions_ = image.partitions;
  totals_ = image.totals;
  lease_begins_ = false;
  lease_end_ = image.lease_left ? now + *image.lease_left : kNever;
  set_high(info_.speed_active_enabled, high(image.info.speed_active_enabled));
  set_physical_state(static_cast<PhysicalState>(high(image.info.physical_state_default)));
  set_state(static_cast<PortState>(low(image.info.speed_supported_state)));
}

void Port::set_state(PortState state) {
  set_low(info_.speed_supported_state, static_cast<std::uint8_t>(state));
}

void Port::set_physical_state(PhysicalState state) {
  set_high(info_.physical_state_default, static_cast<std::uint8_t>(state));
}

}  // namespace paravane::subnet
