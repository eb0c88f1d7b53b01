import HoldfastCore
import HoldfastMessageData

@testable import HoldfastMessageStream

/// The device and its user.
struct Phone {
  /// The number of the current run of the process. Events of earlier runs are dropped.
  var process = 1
  var isRunning = true
  var isSuspended = false
  /// The sockets that are open on the phone.
  var sockets: Set<Socket> = []
  var token = 1
  var tokenLife: Duration?
  var isRefreshRefused = false
}

/// The state that survives when the process is killed. It is on a disk that can fail or be slow.
struct Disk {
  var stored = StoredTimeline()
  /// The failure of every call; nil if calls succeed.
  var failure: StoreFailure?
  /// The duration of a commit.
  var delay = Duration.milliseconds(2)

  var messages: [MessageID: ShopMessage] { stored.messages }
  var cursor: ShopCursor { stored.cursor }
  var gaps: [ShopGap] { stored.gaps }
  var outbox: [OutboxEntry] { stored.outbox }
}

extension StreamHarness {
  /// Starts the app with a signed-in user and the shop on the screen.
  mutating func launch() {
    give(.lifecycle(.foreground))
    give(.reachability(net.reachability))
    give(.credentials(.available(expiresIn: phone.tokenLife)))
    give(.open(at: wall))
  }

  /// Kills the process immediately. Its memory and its sockets are lost.
  mutating func kill() {
    phone.isRunning = false
    phone.process += 1
    phone.sockets = []
    server.sockets = []
    queue.removeAll { event in
      switch event {
      case .input, .commit, .refresh: true
      case .socket, .fetch, .upgrade, .post, .pings: false
      }
    }
  }

  mutating func relaunch() {
    model = StreamModel(settings: settings, seed: UInt64(phone.process))
    ledger.beginRun()
    phone.isRunning = true
    launch()
  }

  mutating func background() { give(.lifecycle(.background)) }
  mutating func foreground() { give(.lifecycle(.foreground)) }

  mutating func suspend() { phone.isSuspended = true }

  /// Resumes a suspended process. Its sockets are dead.
  mutating func resume() {
    phone.isSuspended = false
    net.dead.formUnion(phone.sockets)
    give(.woke)
  }

  mutating func send(_ text: String) {
    give(.send(id: .random(using: &generator), text: text, parent: nil, at: wall))
  }

  /// Scrolls up until no older messages remain.
  mutating func scrollToTheBeginning() {
    for _ in 0..<2000 {
      if !ledger.hasMore, model.gaps.isEmpty { return }
      let before = ledger.updates.count
      give(.loadOlder)
      drive(within: .seconds(60)) { harness in
        harness.ledger.updates.dropFirst(before).contains {
          if case .history = $0 { true } else { false }
        }
      }
    }
    ledger.blame("scrolling up never ends")
  }

  mutating func load(_ limit: Int) {
    let input: StreamModel.Input =
      disk.failure.map { .loadFailed($0) } ?? .loaded(disk.stored.load(limit: limit))
    queue.add(.input(process: phone.process, input), at: now)
  }

  mutating func readOlder(_ key: TimelineKey, _ limit: Int) {
    let input: StreamModel.Input =
      disk.failure.map { .olderFailed($0) } ?? .older(disk.stored.older(than: key, limit: limit))
    queue.add(.input(process: phone.process, input), at: now.advanced(by: .milliseconds(1)))
  }

  /// Stores the change, then queues the response. The process may be killed in between.
  mutating func commit(_ id: CommitID, _ change: TimelineChange) {
    let input: StreamModel.Input
    if let failure = disk.failure {
      input = .commitFailed(id, failure)
    } else {
      input = .committed(id, disk.stored.commit(change))
    }
    queue.add(.input(process: phone.process, input), at: now)
  }

  mutating func refreshed() {
    log.refreshes += 1
    if phone.isRefreshRefused {
      give(.credentials(.rejected))
    } else {
      phone.token = server.newestToken
      give(.credentials(.available(expiresIn: phone.tokenLife)))
    }
  }

  // MARK: The user's view

  var texts: [String] { ledger.shown.map(\.text) }
  var status: StreamStatus { StreamStatus(model.link.status) }

  var notices: [StreamNotice] {
    ledger.updates.compactMap { if case .notice(let notice) = $0 { notice } else { nil } }
  }

  var gaps: [ShopGap] {
    ledger.updates.compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
  }

  var ways: [StreamUpdate.Via] {
    ledger.updates.flatMap { update -> [StreamUpdate.Via] in
      if case .messages(let messages, let via) = update { messages.map { _ in via } } else { [] }
    }
  }
}

extension StreamHarness {
  /// Returns a phone that shows a shop with `count` messages, connected and idle.
  static func connected(
    _ kind: Shop.Kind, messages count: Int = 3, seed: UInt64 = 1,
    change: (inout StreamSettings) -> Void = { _ in }
  ) -> StreamHarness {
    var harness = StreamHarness(kind, seed: seed, change: change)
    harness.accumulate(count, apart: .seconds(10))
    harness.launch()
    harness.drive { $0.status.state == .connected }
    harness.pass(.seconds(20))
    return harness
  }

  var fetches: [PageQuery] { log.fetches.map(\.query) }

  func seconds(since start: Instant) -> Double {
    Double(start.duration(to: now).nanoseconds) / 1e9
  }
}
