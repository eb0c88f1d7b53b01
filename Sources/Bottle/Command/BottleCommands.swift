import Holdfast
import HoldfastBottleData
import HoldfastBottleLink
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastPorts

/// The command `holdfast bottle`: follows a drinking bottle that reconnects by itself.
package enum BottleCommands {
  package static var command: Command {
    Command(
      "bottle", "follow a drinking bottle that reconnects by itself",
      details: [
        """
        The bottle of the data directory is the first one that `watch` finds, until `forget`. Its \
        drinks are stored in bottle.sqlite there, each once, readable only by its owner. The radio is \
        this machine's Bluetooth adapter, used through BlueZ, or the Unix socket that --radio \
        names. BlueZ was tested with the real daemon and virtual controllers, but never with a \
        real radio.
        """
      ],
      commands: [
        BottleWatchCommand.command, BottleDrinksCommand.command, BottleStatusCommand.command,
        BottleForgetCommand.command,
        BottleVirtualCommand.command,
      ] + BottleRequestCommands.all)
  }
}

/// The command `holdfast bottle watch`: follows a bottle until a signal arrives.
enum BottleWatchCommand {
  static var command: Command {
    Command(
      "watch", "follow a bottle: its state and its drinks",
      details: [
        """
        Looks for the bottle for 5 s at the start, half a second after SIGUSR2 moves the program \
        to the foreground, and 3 s after an unexpected loss; a connect also stays queued. \
        \(LinkRun.details(onHangup: "looks at once", once: false))
        """,
        """
        A drink is stored before the bottle may forget it. It is printed once: by the run that \
        stored it, or by the next run if the first one was killed before printing it. If a run is \
        killed after it has printed a drink but before it has noted that, the next run prints the \
        drink again, with the same id, time and amount.
        """,
        """
        The mechanism that waits for the bottle between the scans depends on this machine. `bottle \
        status` shows it: auto-connect (BlueZ connects by itself, once the bottle was connected), \
        advertisement-monitor (the controller watches for the bottle) or paced-scan (a scan of 5 s \
        every 30 s).
        """,
        BottleUpdate.details,
      ],
      examples: [
        .init("holdfast bottle watch", "with the first Bluetooth adapter"),
        .init("holdfast bottle watch --radio bottle.sock", "with a virtual bottle"),
        .init(
          "holdfast bottle watch --radio bottle.sock --json | jq 'select(.event==\"drink\")'",
          "only drinks, for a script"),
      ],
      signals: LinkRun.signals,
      takes: BottleRadio.path, BottleRadio.adapter, Shared.data, Connection.policyFile,
      Shared.settings,
      Shared.journal, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    // The run is created first, so that a signal ends the command in an orderly way even while the
    // radio and the store are being opened.
    let run = LinkRun(call)
    let policy = try Connection.policy(call, preset: .bottleLink)
    let radio = try BottleRadio(call)
    let store = try await call.withData { (directory) throws(StoreFailure) in
      try await HoldfastPlatform.drinkStore(in: directory)
    }
    let mark = WatchMark(in: try call.namedDirectory())
    var configuration = BottleLinkConfiguration(radio: radio.central, storage: .store(store))
    configuration.settings = BottleSettings(policy: policy)
    configuration.journal = call[Shared.journal]
    configuration.ports.lifecycle = run.lifecycle
    try await store.closing { () throws(CommandFailure) in
      let bottle = try await CommandFailure.opening { () throws(OpenError) in
        try await HeldBottle(configuration) { call.diagnostic($0.description) }
      }
      let view = call.view(of: BottleUpdate.self)
      let notes = BottleNotes(store)
      let noting = Task { await notes.note(radio.standbys) }
      var shown: UInt64?
      await run.follow(close: { await bottle.close() }) { _, _ in
        for await update in bottle.lastingUpdates {
          shown = await show(update, view, bottle, notes) ?? shown
        }
      }
      await view.end()
      // The bottle takes no mark of a drink that was shown while it was being closed.
      if let shown { try? await store.confirm(shown) }
      noting.cancel()
      await noting.value
      try? await store.note(nil)
    }
    withExtendedLifetime(mark) {}
  }

  /// Shows an update. Returns the number of a drink, which is then marked as shown.
  private static func show(
    _ update: BottleUpdate, _ view: any LinkView<BottleUpdate>, _ bottle: HeldBottle,
    _ notes: BottleNotes
  ) async -> UInt64? {
    await view.show(update)
    if case .status(let status) = update {
      await notes.note(LinkState(status).text(at: BootClock().now))
    } else {
      await notes.retry()
    }
    guard case .drink(let drink) = update else { return nil }
    bottle.markShown(through: drink.number)
    return drink.number
  }
}

/// The command `holdfast bottle drinks`: lists the stored drinks.
enum BottleDrinksCommand {
  private static let limit = Parameter.option(
    "limit", .integer("N", 1...1_000_000), default: 50, "the most drinks to show, the newest ones")

  static var command: Command {
    Command(
      "drinks", "show the stored drinks, oldest first",
      details: [
        """
        Reads only the data directory, which `bottle watch` may be writing to. With --json each \
        drink is one object: event "drink", id, amountML (negative for a refill), levelML, time \
        (null if the bottle's clock was not set), storedAt, via live|sync, deleted.
        """
      ],
      examples: [.init("holdfast bottle drinks --limit 1000 --json", "for a script")],
      takes: Shared.writtenData, limit, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    let drinks = try await CommandFailure.catching { () throws(StoreFailure) in
      let store = try await HoldfastPlatform.drinkStore(in: directory, forReading: true)
      return try await store.closing { () throws(StoreFailure) in
        try await store.drinks(before: nil, limit: call[limit])
      }
    }
    for drink in drinks { show(drink, call) }
    // Drinks are numbered from 1 and never removed.
    if let first = drinks.first, first.number > 1 {
      call.diagnostic("there are \(first.number - 1) older drinks; --limit shows more")
    }
    if drinks.isEmpty { call.diagnostic("\(directory) contains no drinks") }
  }

  private static func show(_ drink: BottleDrink, _ call: Invocation) {
    call.put(BottleText.line(of: drink) + (drink.isDeleted ? " (deleted)" : ""), event: "drink") {
      $0.entry("id", Int(drink.record.id))
      $0.entry("amountML", Int(drink.record.amount))
      $0.entry("levelML", Int(drink.record.level))
      $0.entry("time", drink.record.timestamp.map(RFC3339.format))
      $0.entry("storedAt", drink.storedAt.milliseconds)
      $0.entry("via", drink.via.rawValue)
      $0.entry("deleted", drink.isDeleted)
    }
  }
}

/// The command `holdfast bottle status`: shows what a running watch is waiting for, and why.
enum BottleStatusCommand {
  static var command: Command {
    Command(
      "status", "show what a running watch waits for, and why",
      details: [
        """
        Reads only the data directory. Without a running `bottle watch` nothing is outstanding. \
        With --json it is one object: event "bottle-status", bottle (name and id, or null), \
        running (the last status in words, with what waits for the bottle where that is Bluetooth \
        of this machine, or null), drinks (how many are stored), unshown (how \
        many of them no run has noted as printed), newest (the time of the newest one; null if \
        there is none, or if the bottle's clock was not set).
        """
      ],
      examples: [.init("holdfast bottle status", "is it still looking for the bottle?")],
      takes: Shared.writtenData, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    let (snapshot, newest, running) = try await CommandFailure.catching {
      () throws(StoreFailure) in
      let store = try await HoldfastPlatform.drinkStore(in: directory, forReading: true)
      return try await store.closing { () throws(StoreFailure) in
        let snapshot = try await store.open()
        let newest = try await store.drinks(before: nil, limit: 1).last
        return (snapshot, newest, try await store.noted())
      }
    }
    // A watch that was killed has left its last status in the store.
    let mark = WatchMark.state(in: directory)
    if case .unknown(let problem) = mark {
      call.diagnostic("cannot tell whether a watch runs: \(problem)")
    }
    show(snapshot, mark == .runs ? running : nil, newest, call)
  }

  private static func show(
    _ snapshot: DrinkSnapshot, _ running: String?, _ newest: BottleDrink?, _ call: Invocation
  ) {
    let bottle = snapshot.bottle
    let time = newest?.record.timestamp.map(RFC3339.format)
    guard call[Shared.json] else {
      call.console.line("bottle: " + (bottle?.label ?? "none found yet"))
      call.console.line("running: " + (running ?? "no; nothing is outstanding"))
      let drinks = newest.map { newest in
        let when = time.map { "of \($0)" } ?? "stored at \(newest.storedAt.milliseconds)"
        return "\(newest.number), the newest \(when)"
      }
      call.console.line("drinks: " + (drinks ?? "none"))
      return
    }
    call.console.object {
      $0.entry("event", "bottle-status")
      $0.entry("bottle", bottle?.member)
      $0.entry("running", running)
      $0.entry("drinks", newest?.number ?? 0)
      $0.entry("unshown", snapshot.unshown.count)
      $0.entry("newest", time)
    }
  }
}

/// The command `holdfast bottle forget`: removes the bottle from a data directory, so that another
/// bottle can be added.
enum BottleForgetCommand {
  static var command: Command {
    Command(
      "forget", "forget which bottle it is, so that the next one found takes its place",
      details: [
        """
        The drinks stay. End a running `bottle watch` first. A Bluetooth daemon goes on knowing the \
        bottle; `bluetoothctl remove ADDRESS` makes it forget, too. With --json it is one object: \
        event "forgotten", bottle (name and id, or null if there was none).
        """
      ],
      examples: [.init("holdfast bottle forget", "before the first use of a new bottle")],
      takes: Shared.writtenData, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let bottle = try await call.withData { (directory) throws(StoreFailure) in
      // The store is opened for reading first, so that a missing store is not created.
      await (try HoldfastPlatform.drinkStore(in: directory, forReading: true)).close()
      let store = try await HoldfastPlatform.drinkStore(in: directory)
      return try await store.closing { () throws(StoreFailure) in
        let bottle = try await store.open().bottle
        try await store.forgetBottle()
        return bottle
      }
    }
    call.put(bottle.map { "forgot \($0.label)" } ?? "there was no bottle", event: "forgotten") {
      $0.entry("bottle", bottle?.member)
    }
  }
}

extension KnownBottle {
  /// A human-readable label with the bottle's name and ID.
  fileprivate var label: String { (name ?? "unnamed").printable + " \(id.id)" }

  /// The bottle's name and ID, as the value of a JSON member.
  fileprivate var member: String { "\(name ?? "") \(id.id)" }
}
