import LinkCore
import LinkWire

@testable import MessageStream

/// The device and its user.
struct Phone {
  /// Counts the runs of the process; what belongs to an older run is gone.
  var process = 1
  var isRunning = true
  var isSuspended = false
  /// What came while it was suspended.
  var held: [StreamModel.Input] = []
  /// Sockets that it holds open.
  var sockets: Set<Socket> = []
  var token = 1
  var tokenLife: Duration?
  /// What a refresh of the credentials brings.
  var refresh = Refresh.works

  enum Refresh {
    case works
    case fails
    case isRefused
    case hangs
  }
}

extension StreamWorld {
  /// The app starts, is signed in, and shows the shop.
  mutating func launch() {
    give(.lifecycle(.foreground, at: wall))
    give(.reachability(net.reachability))
    give(.credentials(.available(expiresIn: phone.tokenLife)))
    give(.open(at: wall))
  }

  /// The process dies at once: what it had in memory is gone, and so are its sockets.
  mutating func kill() {
    phone.isRunning = false
    phone.process += 1
    phone.sockets = []
    phone.held = []
    server.sockets = []
    queue.removeAll { event in
      switch event {
      case .input, .commit, .refresh: true
      case .socket, .fetch, .upgrade, .post, .pings: false
      }
    }
  }

  mutating func relaunch() {
    model = StreamModel(settings: settings, seed: chance.next())
    ledger.beginRun()
    phone.isRunning = true
    phone.isSuspended = false
    launch()
  }

  mutating func background() { give(.lifecycle(.background, at: wall)) }
  mutating func foreground() { give(.lifecycle(.foreground, at: wall)) }

  mutating func suspend() { phone.isSuspended = true }

  /// The process goes on: its sockets are dead, and some of what came meanwhile is still there.
  mutating func resume() {
    phone.isSuspended = false
    let held = phone.held
    phone.held = []
    for socket in phone.sockets { net.dead.insert(socket) }
    // The disk answers always; of what came over the network, half was lost.
    for (index, input) in held.enumerated() where index % 2 == 0 || !input.isAnswer {
      give(input)
    }
    give(.woke(at: wall))
  }

  mutating func send(_ text: String) { give(.send(text: text, parent: nil, at: wall)) }

  /// Scrolls up until there is nothing older.
  mutating func scrollToTheBeginning(limit: Int = 2000) {
    for _ in 0..<limit {
      if !ledger.hasMore, model.gaps.isEmpty { return }
      let before = ledger.updates.count
      give(.loadOlder)
      drive(within: .seconds(60)) { world in
        world.ledger.updates.dropFirst(before).contains {
          if case .history = $0 { true } else { false }
        }
      }
    }
    ledger.blame("scrolling up never ends")
  }

  mutating func load(_ limit: Int) {
    if let failure = disk.failure {
      queue.add(.input(process: phone.process, .loadFailed(failure)), at: now)
    } else {
      queue.add(.input(process: phone.process, .loaded(disk.load(limit: limit))), at: now)
    }
  }

  mutating func readOlder(_ key: TimelineKey, _ limit: Int) {
    let input: StreamModel.Input =
      disk.failure.map { .olderFailed($0) } ?? .older(disk.older(than: key, limit: limit))
    queue.add(.input(process: phone.process, input), at: now.advanced(by: .milliseconds(1)))
  }

  /// Durable first, then answered: a kill may fall between the two.
  mutating func commit(_ id: CommitID, _ asked: TimelineChange) {
    var change = asked
    if let failure = disk.failure {
      queue.add(.input(process: phone.process, .commitFailed(id, failure)), at: now)
      return
    }
    if case .eagerCursor = sabotage, change.cursor != nil {
      change.cursor?.position = shop.head
      change.cursor?.time = wall.advanced(by: settings.overlap * 2)
    }
    var answer = disk.commit(change)
    if case .forgetfulStore = sabotage {
      answer.inserted = change.messages.map(\.id)
    }
    queue.add(.input(process: phone.process, .committed(id, answer)), at: now)
  }

  mutating func refreshed() {
    log.refreshes += 1
    switch phone.refresh {
    case .works:
      phone.token = server.newestToken
      give(.credentials(.available(expiresIn: phone.tokenLife)))
    case .fails: give(.credentials(.refreshFailed))
    case .isRefused: give(.credentials(.rejected))
    case .hangs: return
    }
  }

  // What the user sees.

  var texts: [String] { ledger.shown.map(\.text) }
  var status: StreamStatus { StreamStatus(model.link.status) }

  var notices: [StreamNotice] {
    ledger.updates.compactMap { if case .notice(let notice) = $0 { notice } else { nil } }
  }

  var gaps: [Gap] {
    ledger.updates.compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
  }

  var ways: [Via] { ledger.batches.flatMap { batch in batch.messages.map { _ in batch.via } } }
}

extension StreamWorld {
  /// A phone that shows a shop with `count` messages, connected and quiet.
  static func connected(
    _ kind: Shop.Kind, messages count: Int = 3, seed: UInt64 = 1,
    change: (inout StreamSettings) -> Void = { _ in }
  ) -> StreamWorld {
    var world = StreamWorld(kind, seed: seed, change: change)
    world.accumulate(count, apart: .seconds(10))
    world.launch()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(20))
    return world
  }

  var fetches: [PageQuery] { log.fetches.map(\.query) }

  func seconds(since start: Instant) -> Double {
    Double(start.duration(to: now).nanoseconds) / 1e9
  }
}
