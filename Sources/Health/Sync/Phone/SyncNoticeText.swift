import HoldfastCore

extension SyncNotice: CustomStringConvertible {
  /// A description of the notice, in lower case and without a full stop.
  public var description: String {
    switch self {
    case .secretRefused: "the server refuses the secret; nothing is sent until there is another one"
    case .secretRenewed: "the secret has changed"
    case .unreachable(let failure): "the server cannot be reached, or cannot serve: \(failure)"
    case .source(let type, let failure): "the samples of \(type) cannot be read now: \(failure)"
    case .store(let failure): "a change could not be stored: \(failure)"
    case .divided(let file): "\(file) is larger than the server takes, and is sent in two parts"
    case .readsAgain(let owner):
      "what was sent is read again for \(owner), since the progress was not that of this server, "
        + "person and epoch"
    case .notRefreshed(let failure): "the server did not refresh its tables: \(failure)"
    }
  }
}

extension SyncBatchReport.Reason: CustomStringConvertible {
  /// The reason, as it is shown and stored.
  public var description: String {
    switch self {
    case .failure(let failure): failure.description
    case .text(let text): text
    }
  }
}
