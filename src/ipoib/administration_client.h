// AdministrationClient: asks the subnet's administration (SA), which is where the master subnet
// manager is, in the name of one port: to join multicast groups and to leave them, and for paths.
//
// Each question is asked again a few times by the port's MAD layer when no answer comes; what lasts
// longer is for the one that asked. The number of open questions is bounded. What is answered is
// checked as far as it is the manager's answer to what was asked; what the records say is for the
// one that asked to judge.
//
// The subnet's thread only.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <span>

#include "base/turn_clock.h"
#include "ipoib/broadcast_group.h"
#include "subnet/host_adapter.h"
#include "subnet/mad_agent.h"
#include "wire/infiniband/subnet_administration.h"

namespace paravane::ipoib {

// The number of an open question. 0: none.
enum class QuestionId : std::uint32_t { kNone = 0 };

struct AdministrationFailure {
  enum class Cause : std::uint8_t {
    kNoManager,  // the port is not active, or has no master subnet manager
    kNoRoom,     // too many questions are open, or agents at the port
    kNoAnswer,
    kRefused,
  };
  Cause cause = Cause::kNoAnswer;
  // With kRefused.
  wire::infiniband::AdministrationStatus status{};

  friend bool operator==(const AdministrationFailure&, const AdministrationFailure&) = default;
};

struct PathWish {
  std::uint16_t destination = 0;  // LID
  std::uint16_t partition = 0xFFFF;
};

class AdministrationClient final : private subnet::MadAgent {
 public:
  static constexpr std::size_t kMostQuestions = 1024;
  // Of each try; with the tries, an answer that is to come has come within 4 s.
  static constexpr Duration kTimeout = std::chrono::milliseconds(1000);
  static constexpr unsigned kRetries = 3;

  template <typename Record>
  using Answer = std::expected<Record, AdministrationFailure>;
  // Called once, later than the question, and never after cancel(). It may ask and cancel.
  using OnMember = std::function<void(const Answer<wire::infiniband::MulticastMember>&)>;
  using OnPath = std::function<void(const Answer<wire::infiniband::PathRecord>&)>;

  // Both outlive us.
  AdministrationClient(subnet::HostAdapter& adapter, subnet::PortNumber port,
                       const TurnClock& clock);
  ~AdministrationClient() override;

  // Joins a group of a partition, as a full member, or to send to it alone.
  std::expected<QuestionId, AdministrationFailure> join(const wire::infiniband::Gid& group,
                                                        std::uint16_t partition, bool send_only,
                                                        OnMember on_member);
  // Joins one of a partition as a full member. If it does not exist, it is made like the
  // partition's broadcast group (RFC 4391, 5).
  std::expected<QuestionId, AdministrationFailure> join_or_make(const wire::infiniband::Gid& group,
                                                                const BroadcastGroup& like,
                                                                OnMember on_member);
  // Leaves it. An answer is not waited for: administration forgets members whose port goes.
  void leave(const wire::infiniband::Gid& group, std::uint16_t partition, bool send_only);
  std::expected<QuestionId, AdministrationFailure> find_path(const PathWish& wish, OnPath on_path);
  void cancel(QuestionId question);

  // The port's own GID.
  wire::infiniband::Gid own_gid() const;
  std::size_t open_questions() const { return open_.size(); }

 private:
  // The answer, or nullptr: none came.
  using OnAnswer = std::function<void(const wire::infiniband::AdministrationPacket*)>;

  std::expected<QuestionId, AdministrationFailure> ask(
      wire::infiniband::AdministrationPacket question, OnAnswer on_answer);
  std::expected<QuestionId, AdministrationFailure> ask_to_join(
      wire::infiniband::AdministrationPacket packet, OnMember on_member);
  // False: the MAD layer has no room for it.
  bool send(wire::infiniband::AdministrationPacket& packet, std::uint32_t transaction,
            Duration timeout);
  wire::infiniband::AdministrationPacket membership(const wire::infiniband::Gid& group,
                                                    std::uint16_t partition, bool send_only) const;
  subnet::MadAddress administration() const;
  void close(const wire::infiniband::MadHeader& header,
             const wire::infiniband::AdministrationPacket* answer);
  // False: the port has no room for us. It is tried again with each question.
  bool is_registered();

  // ---- subnet::MadAgent ----
  void on_mad(subnet::AgentId agent, const subnet::MadAddress& from,
              std::span<const std::byte> mad) override;
  void on_no_answer(subnet::AgentId agent, const subnet::MadAddress& to,
                    std::span<const std::byte> mad) override;

  subnet::HostAdapter& adapter_;
  const subnet::PortNumber port_;
  const TurnClock& clock_;
  subnet::AgentId agent_ = subnet::AgentId::kNone;  // kNone: not registered yet
  std::map<std::uint32_t, OnAnswer> open_;          // by transaction
  std::uint32_t next_ = 1;
};

}  // namespace paravane::ipoib
