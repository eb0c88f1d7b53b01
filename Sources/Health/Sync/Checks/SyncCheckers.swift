import HoldfastCore
import HoldfastHealthSamples
public import HoldfastHealthSync
public import HoldfastLinkChecks
import HoldfastSyncData
import HoldfastUploads

/// The checkers of the guarantees that are specific to HealthSync.
///
/// They observe a phone's inputs and effects and its disk, but never the model's own state.
public struct SyncCheckers: FeatureCheckers {
  /// The feature that the checkers check.
  public typealias Feature = SyncFeature

  private var found = Findings()
  private var phones: [Int: SyncObserved] = [:]

  public init() {}

  public var findings: [Finding] { found.all }

  public mutating func stepped(
    _ input: SyncModel.Input?, isLate: Bool, _ effects: [SyncModel.Effect],
    _ phoneState: PhoneState<SyncFeature>
  ) {
    var observed = phones.removeValue(forKey: phoneState.own.phone) ?? SyncObserved()
    observed.pass(to: phoneState.now, phoneState.isAwake, &found)
    if let input { observed.received(input, phoneState, &found) }
    for effect in effects { observed.requested(effect, phoneState, &found) }
    phones[phoneState.own.phone] = observed
  }

  public mutating func handle(
    _ seen: Observation<SyncFeature>, _ phoneState: PhoneState<SyncFeature>
  ) {
    let phone = phoneState.own.phone
    switch seen {
    case .launched, .killed: phones[phone] = SyncObserved()
    case .resumed: phones[phone]?.resumed(at: phoneState.now)
    case .suspended: phones[phone]?.pass(to: phoneState.now, true, &found)
    case .fact(.granted(let phone, let wake, let until)):
      phones[phone, default: SyncObserved()].grants[wake] = until
    case .fact(.locked(let phone, let id)):
      phones[phone, default: SyncObserved()].locked.insert(id)
    case .received, .ticked, .upgraded, .serverLost, .wentDead, .server, .began, .ended, .calm,
      .fact:
      return
    }
  }

  public mutating func conclude(_ phoneState: PhoneState<SyncFeature>) {
    for (_, var observed) in phones.sorted(by: { $0.key < $1.key }) {
      observed.pass(to: phoneState.now, phoneState.isAwake, &found)
    }
  }
}

/// The inputs and effects of one phone, observed during one run of its process.
struct SyncObserved: Sendable {
  /// The queue on disk after the most recent committed transaction.
  private var queue = StoredSyncQueue()
  private var commits: [SyncCommitID: [SyncQueueStep]] = [:]
  /// For each type, the page that was read but not yet stored: its anchor and its batches.
  private var pages: [String: (anchor: HealthAnchor, files: [String])] = [:]
  /// The newest stamp of each type. Types are read concurrently, so that pages arrive in any order.
  private var newest: [String: Timestamp] = [:]
  /// The types that are being read, and the number of completed reads of each type.
  private var reading: [SyncFetchID: String] = [:]
  private var read: [String: Int] = [:]
  /// The types that the app observes.
  private var observed: [String] = []
  /// The batches that are being sent, those that the server accepted, and those that it refused.
  private var sending: Set<String> = []
  private var accepted: Set<String> = []
  private var refused: Set<String> = []
  /// The batches that were quarantined in this run, including those whose quarantine could not be
  /// stored.
  private var aside: Set<String> = []
  /// The reads that failed because the device was locked.
  var locked: Set<SyncFetchID> = []
  /// The granted time that was not given back: the instant at which it ends, and the numbers of
  /// completed reads of its types.
  private var wakes: [WakeID: Wake] = [:]
  private var givenBack: Set<WakeID> = []
  /// The times at which the system's grants end. The app receives a grant a moment after the system
  /// makes it.
  var grants: [WakeID: Instant] = [:]
  private var pace = SyncPace()

  private struct Wake: Sendable {
    var until: Instant
    var read: [String: Int]
    var isReported = false
  }

  // Time.

  /// Reports granted time that has ended since the last step.
  mutating func pass(to now: Instant, _ isAwake: Bool, _ found: inout Findings) {
    guard isAwake else { return }
    for (id, wake) in wakes where wake.until < now && !wake.isReported {
      wakes[id]?.isReported = true
      found.add(.overdue, at: now, "wake \(id.number) was not given back before its end")
    }
  }

  /// Extends deadlines after a suspension, because the process could not use that time.
  mutating func resumed(at now: Instant) {
    let until = now.advanced(by: .seconds(1))
    for (id, wake) in wakes { wakes[id]?.until = max(wake.until, until) }
    for (id, end) in grants { grants[id] = max(end, until) }
  }

  // Inputs.

  mutating func received(
    _ input: SyncModel.Input, _ phoneState: PhoneState<SyncFeature>, _ found: inout Findings
  ) {
    pace.received(input, phoneState)
    switch input {
    case .restored(let queue, let running, let missing):
      self.queue = queue
      sending = running
      refused.formUnion(missing)
    case .fired(let types, let id, let budget):
      let until = grants.removeValue(forKey: id) ?? phoneState.now.advanced(by: budget)
      let known = types.map { ($0, (read[$0] ?? 0) + (reading.values.contains($0) ? 1 : 0)) }
      wakes[id] = Wake(until: until, read: Dictionary(known) { $1 })
    case .woken(let id, let budget, let reads):
      let until = grants.removeValue(forKey: id) ?? phoneState.now.advanced(by: budget)
      wakes[id] = Wake(until: until, read: reads ? counts(of: observed) : [:])
    case .fetched(let id, let page): fetched(id, page, phoneState, &found)
    case .notFetched(let id, _), .notWritten(let id, _): reading[id] = nil
    case .committed(let id):
      for step in commits.removeValue(forKey: id) ?? [] { queue.apply(step) }
    case .notCommitted(let id, _): commits[id] = nil
    case .uploaded(let file, let outcome, _):
      sending.remove(file)
      note(outcome, of: file)
    case .notSplit(let file, nil): refused.insert(file)
    case .ask, .split, .notSplit, .identified, .notIdentified, .epoch, .secret, .refreshed,
      .device, .conditions, .again, .stop:
      return
    }
  }

  /// Returns the numbers of completed reads of some types.
  private func counts(of types: [String]) -> [String: Int] {
    Dictionary(types.map { ($0, read[$0] ?? 0) }) { $1 }
  }

  private mutating func note(_ outcome: UploadOutcome, of file: String) {
    switch outcome {
    case .accepted: accepted.insert(file)
    case .failed(.http(let status, _, _)): if 400..<500 ~= status { refused.insert(file) }
    case .failed: return
    case .unreadable: refused.insert(file)
    }
  }

  private mutating func fetched(
    _ id: SyncFetchID, _ page: FetchedPage, _ phoneState: PhoneState<SyncFeature>,
    _ found: inout Findings
  ) {
    if locked.contains(id) {
      found.add(.unread, at: phoneState.now, "a locked device was treated as one without data")
    }
    guard let type = reading.removeValue(forKey: id) else { return }
    read[type, default: 0] += 1
    guard !page.drafts.isEmpty else { return }
    pages[type] = (page.anchor, page.drafts.map(\.file))
    let before = newest[type] ?? page.made
    if page.made < before {
      found.add(.reordered, at: phoneState.now, "the stamps of batches went backward")
    }
    newest[type] = max(before, page.made)
  }

  // Effects.

  mutating func requested(
    _ effect: SyncModel.Effect, _ phoneState: PhoneState<SyncFeature>, _ found: inout Findings
  ) {
    let now = phoneState.now
    switch effect {
    case .fetch(let id, let type, let start, _, _):
      if reading.values.contains(type) {
        found.add(.doubled, at: now, "two readings of \(type) overlap")
      }
      reading[id] = type
      guard case .after(let anchor) = start else { return }
      if queue.types.first(where: { $0.type == type })?.anchor != anchor {
        found.add(.ahead, at: now, "\(type) is read from an anchor that is not stored")
      }
    case .commit(let id, let steps):
      commits[id] = steps
      check(steps, now, &found)
    case .delete(let files): checkDeleted(files, now, &found)
    case .upload(let all):
      for upload in all { check(upload, phoneState, &found) }
      pace.sent(all, phoneState, &found)
    case .giveBack(let id, let result): giveBack(id, result, now, &found)
    case .identify: pace.asked(phoneState, &found)
    case .observe(let types): observed = types
    case .split, .requestSecret, .refresh, .update: return
    }
  }

  private mutating func giveBack(
    _ id: WakeID, _ result: WakeResult, _ now: Instant, _ found: inout Findings
  ) {
    if !givenBack.insert(id).inserted {
      found.add(.doubled, at: now, "wake \(id.number) was given back twice")
    }
    guard let wake = wakes.removeValue(forKey: id) else { return }
    if wake.until <= now, !wake.isReported {
      found.add(.overdue, at: now, "wake \(id.number) was given back at its end or later")
    }
    guard result == .done else { return }
    for (type, before) in wake.read where read[type] ?? 0 <= before {
      found.add(.unread, at: now, "wake \(id.number) was given back before \(type) was read")
    }
  }

  private mutating func check(
    _ steps: [SyncQueueStep], _ now: Instant, _ found: inout Findings
  ) {
    var added: Set<String> = []
    for case .add(let batch) in steps { added.insert(batch.file) }
    for step in steps {
      switch step {
      case .anchor(let type, let anchor?):
        guard let page = pages.removeValue(forKey: type), page.anchor == anchor else { continue }
        if !added.isSuperset(of: page.files) {
          found.add(.ahead, at: now, "an anchor is stored without the batches up to it")
        }
      case .accept(let file, _):
        if !accepted.contains(file) {
          found.add(.deletedEarly, at: now, "\(file) leaves the queue before the server has it")
        }
      case .remove(let file):
        if added.isEmpty {
          found.add(.deletedEarly, at: now, "\(file) leaves the queue without a replacement")
        }
      case .quarantine(let file, .some):
        aside.insert(file)
        if !refused.contains(file) {
          found.add(.quarantined, at: now, "\(file) is quarantined although it was not refused")
        }
      case .ask, .anchor, .earliest, .own, .add, .quarantine, .stamp: continue
      }
    }
  }

  private func checkDeleted(_ files: [String], _ now: Instant, _ found: inout Findings) {
    let queued = Set(queue.batches.map(\.file))
    for file in files where queued.contains(file) {
      found.add(.deletedEarly, at: now, "\(file) is deleted although the queue needs it")
    }
  }

  /// Checks that a batch may be sent.
  ///
  /// The batch must be durable and neither refused nor accepted. The earlier batches of its type
  /// must be in transit, and their number must not exceed the limit in the plan.
  private mutating func check(
    _ upload: FileUpload, _ phoneState: PhoneState<SyncFeature>, _ found: inout Findings
  ) {
    let (now, file) = (phoneState.now, upload.file)
    let batches = queue.batches.filter { $0.type == upload.type }
    if accepted.contains(file) {
      found.add(.resent, at: now, "\(file) is sent again although the server has it")
    } else if let batch = batches.first(where: { $0.file == file }) {
      if batch.quarantined != nil {
        found.add(.resent, at: now, "\(file) is sent although it is quarantined")
      }
      let isNext = batches.prefix { $0.file != file }.allSatisfy {
        $0.quarantined != nil || accepted.contains($0.file) || aside.contains($0.file)
          || (phoneState.own.depth > 1 && sending.contains($0.file))
      }
      if !isNext {
        found.add(.reordered, at: now, "\(file) is sent before others of its type")
      }
    } else {
      found.add(.ahead, at: now, "\(file) is sent before it is stored")
    }
    let others = batches.count { sending.contains($0.file) && $0.file != file }
    if others >= phoneState.own.depth {
      found.add(.reordered, at: now, "\(file) is sent together with \(others) others of its type")
    }
    sending.insert(file)
  }
}
