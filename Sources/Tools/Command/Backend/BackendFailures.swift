import CommandKit
import HoldfastBackend
import LinkWire

extension CommandFailure {
  /// What kept a backend from working, and what to do about it.
  init(_ error: BackendError) {
    switch error {
    case .listen:
      self.init(
        .failed, error.description,
        remedy: "choose another --host or --port, where 0 picks a free port")
    case .certificate:
      self.init(
        .security, error.description,
        remedy: "give --tls-cert a PEM chain and --tls-key its key without a passphrase")
    case .store(let failure):
      self.init(failure)
    case .file:
      self.init(
        .failed, error.description,
        remedy: "check the file, its owner and permissions, or choose another --data")
    case .openToOthers(let path):
      self.init(
        .failed, error.description,
        remedy: "run chmod 600 \(path), or remove it if it may be known: then a new one is made")
    case .hook:
      self.init(
        .failed, error.description,
        remedy: "give --push-hook the path of an executable file (chmod +x)")
    case .alreadyStarted, .notRunning:
      self.init(.failed, error.description)
    }
  }

  /// Why a store does not work; the store's own words say what to do.
  init(_ failure: StoreFailure) {
    switch failure {
    case .full(let detail), .locked(let detail), .corrupt(let detail), .denied(let detail),
      .other(let detail):
      self.init(.failed, detail)
    case .fromTheFuture(let found, let supported):
      self.init(
        .failed, "the store has format \(found), and this program knows up to \(supported)",
        remedy: "use the newer holdfast, or another --data directory")
    }
  }
}
