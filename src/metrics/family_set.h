// FamilySet collects the samples of a metrics page and prints the page with prometheus-cpp. It
// groups samples of the same name into a family, because prometheus-cpp prints only whole families.
// All names and help texts are string literals of this program.
//
// One thread.

#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace paravane::metrics {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class FamilySet {
 public:
  // `name` ends with _total.
  void counter(const std::string& name, const std::string& help, const MetricLabels& labels,
               double value) {
    add(name, help, prometheus::MetricType::Counter, labels).counter.value = value;
  }
  void gauge(const std::string& name, const std::string& help, const MetricLabels& labels,
             double value) {
    add(name, help, prometheus::MetricType::Gauge, labels).gauge.value = value;
  }

  // The page, version 0.0.4 of Prometheus' text format.
  std::string print() const;

 private:
  prometheus::ClientMetric& add(const std::string& name, const std::string& help,
                                prometheus::MetricType type, const MetricLabels& labels);

  std::vector<prometheus::MetricFamily> families_;  // in the order in which they came
  std::map<std::string, std::size_t> places_;
};

}  // namespace paravane::metrics
