import HoldfastCore
import HoldfastHealthSync
public import HoldfastLinkChecks
public import HoldfastSyncChecks
import HoldfastSyncData
import HoldfastUploads

extension SyncFeature: TracedFeature {
  public static func news(of input: Input) -> [TraceNews] {
    switch input {
    case .fetched(let fetch, let page):
      [
        .answered(
          "fetch \(fetch.number)", isDone: true, count: page.drafts.reduce(0) { $0 + $1.records })
      ]
    case .notFetched(let fetch, _), .notWritten(let fetch, _):
      [.answered("fetch \(fetch.number)", isDone: false, count: 0)]
    case .committed(let commit): [.stored("commit \(commit.number)", isDone: true)]
    case .notCommitted(let commit, _): [.stored("commit \(commit.number)", isDone: false)]
    case .uploaded(let file, let outcome, _):
      [.posted("upload \(file)", isDone: outcome == .accepted)]
    case .restored, .ask, .fired, .woken, .split, .notSplit, .identified, .notIdentified, .epoch,
      .secret, .refreshed, .device, .conditions, .again, .stop:
      []
    }
  }

  public static func news(of effect: Effect) -> [TraceNews] {
    switch effect {
    case .fetch(let fetch, _, _, _, _): [.asks("fetch \(fetch.number)")]
    case .commit(let commit, _): [.stores("commit \(commit.number)")]
    case .upload(let uploads): uploads.map { .posts("upload \($0.file)") }
    case .update(.batch(let batch)): news(of: batch)
    case .observe, .delete, .split, .identify, .requestSecret, .refresh, .giveBack, .update: []
    }
  }

  private static func news(of batch: SyncBatchReport) -> [TraceNews] {
    switch batch.state {
    case .queued, .sending, .retrying: [.waits(batch.file)]
    case .accepted: [.settled(batch.file, isSent: true)]
    case .quarantined: [.settled(batch.file, isSent: false)]
    }
  }

  public static func phone(of fact: Fact) -> Int? {
    switch fact {
    case .granted(let phone, _, _), .handedTwice(let phone, _), .locked(let phone, _),
      .changed(let phone), .upload(let phone, _, _), .displayMismatch(let phone, _):
      phone
    case .putBack, .leftover, .invalidResponse, .damaged: nil
    }
  }

  public static var ordinaryEvents: Set<String> { ["refreshes", "processes"] }
}
