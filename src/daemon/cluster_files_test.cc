#include "daemon/cluster_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "testing/temp_dir.h"

namespace paravane::daemon {
namespace {

TEST(ClusterFiles, AreGoneThoughAnEtcdThatEndsStillWrites) {
  const TempDir dir;
  const ClusterPaths paths(dir.path());
  ASSERT_TRUE(make_cluster_directory(paths));
  const std::filesystem::path wal = paths.directory() / "etcd" / "wal";
  std::filesystem::create_directories(wal);
  std::thread etcd([&wal] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
      std::ofstream(wal / std::to_string(i)) << "x";
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  remove_cluster_directory(paths);
  EXPECT_FALSE(std::filesystem::exists(paths.directory()));
  etcd.join();
}

}  // namespace
}  // namespace paravane::daemon
