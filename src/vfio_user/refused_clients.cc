#include "vfio_user/refused_clients.h"

#include <cerrno>
#include <utility>

namespace paravane::vfio_user {

class RefusedClients::Client final : private Connection::Owner {
 public:
  Client(RefusedClients& all, UniqueFd socket)
      : all_(all), connection_(std::move(socket), all.loop_, all.timers_, *this, {}, nullptr) {}
  ~Client() override { all_.timers_.cancel(limit_); }

  Status start() {
    limit_ = all_.timers_.set(all_.clock_.now + kPatience,
                              [this](Instant) { connection_.close_soon(Connection::Ending{}); });
    return connection_.start();
  }

 private:
  void on_request(Request& request) override {
    connection_.hold();  // and never resume(): nothing else is answered
    Reply reply;
    if (wants_answer(request.header)) connection_.send(reply.finish(request.header, EBUSY), -1);
  }
  void on_ended(const Connection::Ending&) override {
    all_.clients_.remove_if([this](const auto& client) { return client.get() == this; });
  }
  Instant now() const override { return all_.clock_.now; }

  RefusedClients& all_;
  Connection connection_;
  TimerId limit_ = TimerId::kNone;
};

RefusedClients::RefusedClients(EventLoop& loop, TimerQueue& timers, const TurnClock& clock)
    : loop_(loop), timers_(timers), clock_(clock) {}

RefusedClients::~RefusedClients() = default;

Status RefusedClients::add(UniqueFd socket) {
  if (clients_.size() == kMost) clients_.pop_front();
  clients_.push_back(std::make_unique<Client>(*this, std::move(socket)));
  const Status started = clients_.back()->start();
  if (!started) clients_.pop_back();
  return started;
}

void RefusedClients::clear() {
  clients_.clear();
}

}  // namespace paravane::vfio_user
