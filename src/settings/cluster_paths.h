// The location of a host's cluster files: cluster/ in the state directory, accessible to the
// engine only (mode 0600, the directory 0700).

#pragma once

#include <filesystem>

namespace paravane::settings {

class ClusterPaths {
 public:
  explicit ClusterPaths(const std::filesystem::path& state_dir)
      : directory_(state_dir / "cluster") {}

  const std::filesystem::path& directory() const { return directory_; }
  // What we are a member of; how etcd is reached.
  std::filesystem::path membership() const { return directory_ / "membership.json"; }
  // Of what is written once (cluster/file_sums.h).
  std::filesystem::path sums() const { return directory_ / "sums"; }
  // There while the files are being made or given up: without a membership they are nothing.
  std::filesystem::path unfinished() const { return directory_ / "unfinished"; }
  // Our key and certificate in one file, so that both change at once.
  std::filesystem::path identity() const { return directory_ / "host.pem"; }
  // The certificate alone, for an etcd that is to let in this host alone.
  std::filesystem::path own_certificate() const { return directory_ / "own.pem"; }
  std::filesystem::path authority() const { return directory_ / "authority.pem"; }
  // Of an etcd that is not ours.
  std::filesystem::path etcd_authority() const { return directory_ / "etcd-authority.pem"; }
  // On the authority's host alone.
  std::filesystem::path authority_key() const { return directory_ / "authority.key"; }
  std::filesystem::path book() const { return directory_ / "authority.json"; }
  // That another host was promoted, with the authority's signature; the newest that is known.
  std::filesystem::path succession() const { return directory_ / "succession.json"; }
  std::filesystem::path etcd_data() const { return directory_ / "etcd"; }
  // What this host knew last of the inventory.
  std::filesystem::path inventory() const { return directory_ / "inventory.json"; }

 private:
  std::filesystem::path directory_;
};

}  // namespace paravane::settings
