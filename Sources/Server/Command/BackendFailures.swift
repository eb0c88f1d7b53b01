import HoldfastBackend
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore

extension CommandFailure {
  /// Creates the failure for an error of the backend.
  init(_ error: BackendError) {
    switch error {
    case .listen:
      self.init(
        .failed, error.description,
        remedy: "use another address or port; --port 0 uses a free port")
    case .certificate:
      self.init(
        .security, error.description,
        remedy: "--tls-cert needs a PEM chain, and --tls-key its key without a passphrase")
    case .inherited:
      self.init(
        .failed, error.description,
        remedy: "check ListenStream= and FileDescriptorName= of the socket's unit")
    case .store(let failure): self.init(failure)
    case .file:
      self.init(
        .failed, error.description,
        remedy: "check the file, its owner and its permissions, or use another --data")
    case .openToOthers(let path):
      self.init(
        .failed, error.description,
        remedy:
          "run chmod 600 \(path), or remove the file if others may have read it; a new one is then "
          + "created")
    case .key:
      self.init(
        .failed, error.description,
        remedy: "use another --session-key-file, or move the file away; a new one is then created")
    case .hook:
      self.init(
        .failed, error.description,
        remedy: "--push-hook needs the path of an executable file (chmod +x)")
    case .descriptors(_, let least):
      self.init(
        .failed, error.description,
        remedy: "raise it with ulimit -n, or LimitNOFILE= of systemd, to \(least) or more")
    case .alreadyStarted, .notRunning: self.init(.failed, error.description)
    }
  }
}
