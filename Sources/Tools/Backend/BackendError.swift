public import LinkCore

/// Why a backend could not start or keep its files; never holds a secret.
public enum BackendError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The address cannot be listened on.
  case listen(detail: String)
  /// The certificate or its key cannot be used.
  case certificate(detail: String)
  /// A store cannot be opened.
  case store(StoreFailure)
  /// A file of the data directory cannot be read or written.
  case file(path: String, detail: String)
  /// A secret that others than its owner can read or change.
  case openToOthers(path: String)
  /// A file that holds no key of sessions.
  case key(path: String, detail: String)
  /// The program that is to wake phones cannot be run.
  case hook(path: String, detail: String)
  /// A backend runs once; make another one.
  case alreadyStarted
  /// It was never started, or it stopped.
  case notRunning

  /// The cause in words for people.
  public var description: String {
    switch self {
    case .listen(let detail): "cannot listen: \(detail)"
    case .certificate(let detail): "the certificate cannot be used: \(detail)"
    case .store(let failure): "cannot open the store: \(failure)"
    case .file(let path, let detail): "\(path): \(detail)"
    case .openToOthers(let path): "\(path): others than its owner can read or change this secret"
    case .key(let path, let detail): "\(path): \(detail)"
    case .hook(let path, let detail): "the push hook \(path) cannot be run: \(detail)"
    case .alreadyStarted: "the backend was started before"
    case .notRunning: "the backend does not run"
    }
  }
}
