import HoldfastCore
import HoldfastHealthSync
public import HoldfastLinkChecks
import HoldfastSyncData
import HoldfastUploads

extension SyncFeature {
  public static func describe(_ input: Input) -> TracePart {
    switch input {
    case .restored(let queue, let running, _):
      (
        .disk,
        "gives back \(TraceText.count(queue.batches.count, "batch", "batches"))"
          + ", \(running.count) on their way"
      )
    case .ask(let types): (.user, "wants \(TraceText.count(types.count, "type"))")
    case .fired(let types, let wake, let budget):
      (.phone, "grants \(TraceText.length(budget)) as wake \(wake.number) for \(short(types))")
    case .woken(let wake, let budget, let reads):
      (
        .phone,
        "grants \(TraceText.length(budget)) as wake \(wake.number)"
          + (reads ? " for a task" : " for uploads that ended")
      )
    case .fetched(_, let page):
      (.phone, "has \(TraceText.count(page.drafts.count, "batch", "batches")) of health data")
    case .notFetched(_, let failure): (.phone, "gives no health data: \(failure)")
    case .notWritten(_, let failure), .notCommitted(_, let failure):
      (.disk, "stores nothing: \(failure)")
    case .committed: (.disk, "has stored the changes")
    case .uploaded(let file, let outcome, _): (.network, "\(file): \(describe(outcome))")
    case .split(let file, _): (.disk, "has divided \(file)")
    case .notSplit(let file, _): (.disk, "has not divided \(file)")
    case .identified(let identity):
      (.server, "names the epoch \(identity.owner.epoch ?? "of none")")
    case .notIdentified(let failure):
      (.server, "does not say who it is: \(TraceText.failure(failure))")
    case .epoch(let epoch): (.server, "names the epoch \(epoch)")
    case .secret(let isNew): (.phone, isNew ? "has another secret" : "has no other secret")
    case .refreshed(let failure):
      (.server, failure.map { "is not refreshed: \(TraceText.failure($0))" } ?? "is refreshed")
    case .conditions(let conditions): (.phone, describe(conditions))
    case .device, .again, .stop: TraceText.cause(input, of: Model.self)
    }
  }

  private static func describe(_ conditions: SyncConditions) -> String {
    let found = [
      conditions.isUnlocked ? nil : "locked", conditions.isConstrained ? "saves data" : nil,
      conditions.isExpensive ? "costs" : nil, conditions.isLowPower ? "saves power" : nil,
    ].compactMap(\.self)
    return "says: " + (found.isEmpty ? "nothing restricts" : found.joined(separator: ", "))
  }

  private static func describe(_ outcome: UploadOutcome) -> String {
    switch outcome {
    case .accepted: "accepted"
    case .failed(let failure): TraceText.failure(failure)
    case .unreadable(let detail): detail
    }
  }

  private static func short(_ types: [String]) -> String {
    types.map { String($0.drop { $0 != "I" }.dropFirst(10)) }.joined(separator: ", ")
  }

  public static func isWorth(_ input: Input, _ consequences: [TracePart]) -> Bool {
    switch input {
    case .committed, .ask: !consequences.isEmpty
    case .fetched(_, let page): !page.drafts.isEmpty
    case .restored, .fired, .woken, .notFetched, .notWritten, .notCommitted, .uploaded, .split,
      .notSplit, .identified, .notIdentified, .secret, .refreshed, .device, .conditions, .again,
      .stop:
      true
    case .epoch: !consequences.isEmpty
    }
  }

  public static func describe(_ effect: Effect, isVerbose: Bool) -> TracePart? {
    switch effect {
    case .upload(let all): (.app, "sends \(all.map(\.file).joined(separator: ", "))")
    case .giveBack(let wake, let result): (.app, "gives wake \(wake.number) back: \(result)")
    case .delete(let files):
      files.isEmpty ? nil : (.app, "deletes \(files.joined(separator: ", "))")
    case .split(let file): (.app, "divides \(file)")
    case .identify: (.app, "asks the server who it is")
    case .requestSecret: (.app, "reads the secret again")
    case .refresh: (.app, "tells the server that all was sent")
    case .commit(_, let steps): commit(steps, isVerbose: isVerbose)
    case .update(.batch(let report)) where report.state == .quarantined:
      (.screen, "\(report.file) is quarantined")
    case .fetch, .observe, .update:
      isVerbose ? (.app, "asks for \(effect)") : nil
    }
  }

  private static func commit(_ steps: [SyncQueueStep], isVerbose: Bool) -> TracePart? {
    let parts = steps.compactMap { step -> String? in
      switch step {
      case .add(let batch): batch.file
      case .accept(let file, _): "\(file) accepted"
      case .remove(let file): "\(file) divided"
      case .quarantine(let file, _): "\(file) quarantined"
      case .anchor: "an anchor"
      case .own(_, let again): again ? "that all is read again" : "whose progress it is"
      case .ask, .stamp, .earliest: nil
      }
    }
    return parts.isEmpty ? nil : (.app, "stores \(parts.joined(separator: ", "))")
  }

  public static func describe(_ fact: Fact) -> [TracePart] {
    switch fact {
    case .handedTwice(_, let file): [(.phone, "sends \(file) already")]
    case .upload(_, let file, let fact): describe(file, fact)
    case .leftover(let phone, let bytes): [(.server, "keeps \(bytes) bytes of \(phone)")]
    case .displayMismatch(let phone, let detail): [(.server, "shows phone \(phone) \(detail)")]
    case .invalidResponse(let detail): [(.server, "answers wrongly: \(detail)")]
    case .damaged(let user, let detail): [(.server, "has a batch of \(user) that \(detail)")]
    case .putBack(.server): [(.server, "is put back to an earlier state")]
    case .putBack(.healthStore): [(.phone, "puts the health store back to an earlier state")]
    case .putBack(.queue): [(.disk, "is put back to an earlier state")]
    case .granted, .changed, .locked: []
    }
  }

  private static func describe(_ file: String, _ fact: SyncUploadFact) -> [TracePart] {
    switch fact {
    case .begins: [(.phone, "begins the upload of \(file)")]
    case .storedURL: [(.disk, "keeps where \(file) goes on")]
    case .appends(_, let from, let count):
      [(.phone, "sends \(count) bytes of \(file) from \(from)")]
    case .answered(_, let status, let offset, let isComplete):
      [
        (
          .server,
          "says \(status) of \(file)"
            + (isComplete ? ", which is complete" : offset.map { ", has \($0) bytes" } ?? "")
        )
      ]
    }
  }
}

extension TraceText {
  fileprivate static func count(_ number: Int, _ one: String, _ many: String) -> String {
    number == 1 ? "1 \(one)" : "\(number) \(many)"
  }
}
