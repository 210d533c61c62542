// MetricsCarrier lets any thread read the metrics of the Host. It forwards each request to the
// control thread and waits for the result. If the result takes longer than kLimit, the request
// fails with kBusy.

#pragma once

#include <chrono>
#include <memory>

#include "base/mailbox.h"
#include "metrics/metrics_snapshot.h"

namespace paravane::metrics {

class MetricsCarrier final : public MetricsSource {
 public:
  // Both outlive the carrier; `host` is used on the thread that `mailbox` belongs to.
  MetricsCarrier(MetricsSource& host, Mailbox& mailbox) : host_(host), mailbox_(mailbox) {}

  model::ApiResult<std::shared_ptr<const MetricsSnapshot>> metrics() override {
    auto answer = mailbox_.ask([this] { return host_.metrics(); }, kLimit);
    if (answer) return std::move(*answer);
    return model::refuse(model::ApiErrorCode::kBusy, "the daemon did not respond in time",
                         "Ask again.");
  }

 private:
  static constexpr std::chrono::milliseconds kLimit{10'000};

  MetricsSource& host_;
  Mailbox& mailbox_;
};

}  // namespace paravane::metrics
