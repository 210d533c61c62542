// A hostile SRP target: any IUs against a session with commands and task management under way.
//
// What must hold besides the sanitizers: each request ends once, by an answer, by task management
// or when the connection ends; no event is of a request that is not under way; credits, requests
// and waiting answers keep their bounds; no command has moved more than it has; and a session that
// is over says nothing and takes nothing more.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "promise.h"
#include "srp/session.h"
#include "srp_script.h"

namespace paravane::fake {
namespace {

using srp::Tag;

constexpr int kMostActs = 300;
constexpr std::size_t kPlaces = 8;
constexpr std::uint32_t kIuBytes = 256;

class FuzzedSender final : public srp::Sender {
 public:
  bool send(std::span<const std::byte> iu) override {
    require(iu.size() >= 16 && iu.size() <= wire::srp::kLeastIuBytes);
    if (room == 0) return false;
    --room;
    return true;
  }
  unsigned room = 1000;
};

class SrpSessionFuzz final : private srp::SessionEvents {
 public:
  explicit SrpSessionFuzz(FuzzBytes& input)
      : input_(input),
        session_({.request_limit = 1U + input.u8(),
                  .most_initiator_iu_bytes = 64,
                  .most_target_iu_bytes = kIuBytes},
                 kPlaces, sender_) {}

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) {
      act(static_cast<SrpAct>(input_.below(std::to_underlying(SrpAct::kCount))));
      check();
    }
    session_.drop_all(*this);
    require(commands_.empty() && management_.empty());
    require(session_.commands() == 0 && session_.management() == 0);
  }

 private:
  void check() {
    require(session_.commands() == commands_.size() && commands_.size() <= kPlaces);
    require(session_.management() == management_.size());
    require(management_.size() <= srp::Session::kMostManagement);
    require(session_.waiting() <= srp::Session::kMostWaiting);
    require(session_.credits() <= srp::Session::kMostCredits &&
            session_.credits() >= -srp::Session::kMostCredits);
    require(!session_.is_over() || (!session_.has_room() && !session_.can_manage()));
    for (const auto& [tag, bytes] : commands_) require(session_.is_under_way(tag));
  }

  void act(SrpAct what) {
    switch (what) {
      case SrpAct::kSubmit: return submit();
      case SrpAct::kManage: return manage();
      case SrpAct::kAnswer: return answer(pick(commands_));
      case SrpAct::kAnswerTask: return answer(pick(management_));
      case SrpAct::kAnyTag: return answer(input_.u64());
      case SrpAct::kCredits: return credits();
      case SrpAct::kEvent: return event();
      case SrpAct::kLogout: {
        wire::srp::TargetLogout logout;
        logout.reason.set(input_.u32());
        return hear(std::as_bytes(std::span(&logout, 1)));
      }
      case SrpAct::kBytes: return hear(some_bytes());
      case SrpAct::kRoom: sender_.room = input_.u8(); return;
      case SrpAct::kFlush: session_.flush(); return;
      case SrpAct::kCount: return;
    }
  }

  void submit() {
    srp::Command command{.lun = scsi::Lun::of(input_.below(3))};
    command.data.direction = static_cast<scsi::Direction>(input_.below(3));
    const std::uint32_t bytes = input_.u8() * 512U + 1;
    if (command.data.direction != scsi::Direction::kNone) command.data.bytes = bytes;
    if (!session_.has_room()) return;
    const auto tag = session_.submit(command);
    if (!tag) return;
    require(seen_.insert(*tag).second);
    commands_[*tag] = command.data.bytes;
  }

  void manage() {
    const bool is_abort = input_.below(2) == 0;
    const Tag task = Tag{pick(commands_)};
    if (!session_.can_manage()) return;
    const auto tag = session_.manage(
        is_abort ? srp::TaskFunction::kAbortTask : srp::TaskFunction::kLunReset,
        scsi::Lun::of(input_.below(3)), is_abort ? std::optional<Tag>(task) : std::nullopt);
    if (!tag) return;
    require(seen_.insert(*tag).second);
    management_[*tag] = 0;
  }

  std::uint64_t pick(const std::map<Tag, std::uint32_t>& from) {
    const std::uint8_t which = input_.u8();
    if (from.empty()) return which;
    return static_cast<std::uint64_t>(
        std::next(from.begin(), which % static_cast<int>(from.size()))->first);
  }
  std::vector<std::byte> some_bytes() {
    std::vector<std::byte> bytes(input_.u8());
    for (std::byte& byte : bytes) byte = std::byte{input_.u8()};
    return bytes;
  }
  void hear(std::span<const std::byte> iu) {
    const bool was_over = session_.is_over();
    const std::size_t events = events_;
    const auto taken = session_.receive(iu, *this);
    require(!was_over || (!taken && events == events_));
    require(taken || session_.is_over());
    if (!taken) require(!taken.error().message.empty());
  }
  void hear(std::span<const std::byte> header, const std::vector<std::byte>& rest) {
    std::vector<std::byte> iu(header.begin(), header.end());
    iu.insert(iu.end(), rest.begin(), rest.end());
    hear(iu);
  }

  void answer(std::uint64_t tag) {
    wire::srp::Response response{.flags = input_.u8(), .status = input_.u8()};
    response.tag.set(tag);
    response.request_limit_delta.set(hostile_number(input_));
    response.out_residual.set(hostile_number(input_));
    response.in_residual.set(hostile_number(input_));
    response.sense_bytes.set(hostile_number(input_));
    response.response_bytes.set(hostile_number(input_));
    hear(std::as_bytes(std::span(&response, 1)), some_bytes());
  }
  void credits() {
    wire::srp::CreditRequest request;
    request.request_limit_delta.set(hostile_number(input_));
    hear(std::as_bytes(std::span(&request, 1)));
  }
  void event() {
    wire::srp::AsyncEventRequest request;
    request.request_limit_delta.set(hostile_number(input_));
    request.sense_bytes.set(hostile_number(input_));
    hear(std::as_bytes(std::span(&request, 1)), some_bytes());
  }

  // ---- srp::SessionEvents ----

  void on_response(Tag command, const srp::Response& response) override {
    ++events_;
    const auto found = commands_.find(command);
    require(found != commands_.end());
    require(response.moved(found->second) <= found->second);
    require(!scsi::sentence_of(response.status, response.sense).empty());
    commands_.erase(found);
  }
  void on_aborted(Tag command) override {
    ++events_;
    require(commands_.erase(command) == 1);
  }
  void on_managed(Tag request, srp::TaskFunction, srp::ResponseCode) override {
    ++events_;
    require(management_.erase(request) == 1);
  }
  void on_async_event(scsi::Lun, const std::optional<scsi::Sense>& sense) override {
    ++events_;
    if (sense) require(!sense->sentence().empty());
  }
  void on_logout(const std::string& reason) override {
    ++events_;
    require(!reason.empty() && session_.is_over());
  }
  void on_dropped(Tag request) override {
    require(commands_.erase(request) + management_.erase(request) == 1);
  }

  FuzzBytes& input_;
  FuzzedSender sender_;
  srp::Session session_;
  std::map<Tag, std::uint32_t> commands_;  // with their lengths
  std::map<Tag, std::uint32_t> management_;
  std::set<Tag> seen_;
  std::size_t events_ = 0;
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::FuzzBytes input(data, size);
  paravane::fake::SrpSessionFuzz(input).run();
  return 0;
}
