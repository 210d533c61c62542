// SrpSessionRig: a session, the fake target that it is logged in at, and what it heard. SentIus: a
// sender that keeps what is sent, for tests that play the target themselves.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "srp/session.h"
#include "testing/fake_srp_target.h"

namespace paravane::fake {

struct RecordedSrpEvents : srp::SessionEvents {
  struct Managed {
    srp::Tag tag{};
    srp::TaskFunction function{};
    srp::ResponseCode code{};
  };
  void on_response(srp::Tag command, const srp::Response& response) override {
    responses.emplace_back(command, response);
  }
  void on_aborted(srp::Tag command) override { aborted.push_back(command); }
  void on_managed(srp::Tag request, srp::TaskFunction function, srp::ResponseCode code) override {
    managed.push_back({request, function, code});
  }
  void on_async_event(scsi::Lun lun, const std::optional<scsi::Sense>& sense) override {
    async_events.emplace_back(lun, sense);
  }
  void on_logout(const std::string& reason) override { logouts.push_back(reason); }
  void on_dropped(srp::Tag request) override { dropped.push_back(request); }

  std::vector<std::pair<srp::Tag, srp::Response>> responses{};
  std::vector<srp::Tag> aborted{};
  std::vector<Managed> managed{};
  std::vector<std::pair<scsi::Lun, std::optional<scsi::Sense>>> async_events{};
  std::vector<std::string> logouts{};
  std::vector<srp::Tag> dropped{};
};

struct SentIus final : srp::Sender {
  bool send(std::span<const std::byte> iu) override {
    if (room == 0) return false;
    --room;
    sent.emplace_back(iu.begin(), iu.end());
    return true;
  }
  std::size_t room = SIZE_MAX;
  std::deque<std::vector<std::byte>> sent{};
};

inline srp::LoginTerms login_terms(std::uint32_t limit = 8) {
  return {.request_limit = limit,
          .most_initiator_iu_bytes = srp::kAskedIuBytes,
          .most_target_iu_bytes = srp::kAskedIuBytes};
}

class SrpSessionRig {
 public:
  explicit SrpSessionRig(std::uint32_t limit = 8, std::size_t commands = 16)
      : session(login_terms(limit), commands, sender) {
    target.add(0, disk);
  }

  // A command whose payload lies at the beginning of the memory.
  std::optional<srp::Tag> submit(const scsi::Request& request, scsi::Lun lun = {}) {
    return session.submit({.lun = lun,
                           .cdb = request.cdb,
                           .data = {.address = FakeRemoteMemory::kBase,
                                    .key = FakeRemoteMemory::kKey,
                                    .bytes = request.bytes,
                                    .direction = request.direction}});
  }
  // Gives the target what was sent, and the session what it answers, until all is still.
  void settle() {
    while (!sender.sent.empty() || !answers.empty()) {
      if (!sender.sent.empty()) {
        target.receive(sender.sent.front());
        sender.sent.pop_front();
        continue;
      }
      const std::vector<std::byte> iu = std::move(answers.front());
      answers.pop_front();
      if (const Status taken = session.receive(iu, events); !taken && problem.empty())
        problem = taken.error().message;
    }
  }
  // What a command has come to; its data is at the beginning of the memory.
  std::optional<srp::Response> run(const scsi::Request& request, scsi::Lun lun = {}) {
    const std::size_t before = events.responses.size();
    if (!session.has_room() || !submit(request, lun)) return std::nullopt;
    settle();
    if (events.responses.size() == before) return std::nullopt;
    return events.responses.back().second;
  }
  // The bytes of the last answer.
  std::span<const std::byte> data(const scsi::Request& request) {
    return memory.bytes().first(events.responses.back().second.moved(request.bytes));
  }

  FakeRemoteMemory memory{};
  FakeScsiDisk disk{};
  std::deque<std::vector<std::byte>> answers{};
  FakeSrpTarget target{memory, [this](std::span<const std::byte> iu) {
                         answers.emplace_back(iu.begin(), iu.end());
                       }};
  SentIus sender{};
  RecordedSrpEvents events{};
  srp::Session session;
  std::string problem{};  // the first that the session had
};

}  // namespace paravane::fake
