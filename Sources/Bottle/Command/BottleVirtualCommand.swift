import Holdfast
import HoldfastBottleLink
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFirmware
import HoldfastPorts
import HoldfastVirtualBottle

/// The command `holdfast bottle virtual`: runs a virtual bottle to which phones can connect.
enum BottleVirtualCommand {
  private static let socket = Parameter.optional(
    "socket", .text("PATH"), usual: "Bluetooth of this machine",
    "the Unix socket of its radio; created for its owner only")
  private static let script = Parameter.optional(
    "script", .text("FILE"), "perform the actions in this file, one on each line")
  private static let interactive = Parameter.flag(
    "interactive", "perform the actions on standard input, one on each line")
  private static let profile = Parameter.option(
    "profile", .choice("PLAN", of: ["028", "034", "035"]), default: "035",
    "the timers: those of the requirements (028), or of a later plan")
  private static let flash = Parameter.optional(
    "flash", .text("FILE"),
    "keep its records in this file; without it the next run has lost them, and begins at id 1")
  private static let name = Parameter.option(
    "name", .bottleName, default: "Bottle-0001", "the name; each name is another bottle")
  private static let mtu = Parameter.option(
    "mtu", .integer("BYTES", 23...517), default: 247, "the largest packet of the radio (MTU)")
  private static let lies = Parameter.flag(
    "counts-deleted", "count and mark deleted records as older bottles do")

  static var command: Command {
    Command(
      "virtual", "run a virtual bottle for tests and demonstrations",
      details: [
        """
        Runs the firmware's rules: it sleeps until it is moved, advertises while it is awake, \
        records drinks of 30 ml and more and refills of 100 ml and more, and answers a phone over \
        Bluetooth, or on its socket. It runs until `quit` or a signal, also after the end of a \
        script.
        """,
        """
        A line of a script is an action, or `after DURATION ACTION`; `#` begins a comment. \
        \(BottleAction.help)
        """,
        """
        With --json every line has "at" (ISO 8601) and "event" bottle: state \
        advertising|quiet|connected|disconnected|asleep|deep-sleep, or record with id and amountML.
        """,
      ],
      examples: [
        .init(
          "holdfast bottle virtual --socket bottle.sock --interactive",
          "move and pour by keyboard"),
        .init(
          "holdfast bottle virtual --socket bottle.sock --script day.txt --flash bottle.txt",
          "a day of drinks"),
        .init(
          "holdfast bottle virtual --adapter hci1 --interactive",
          "a bottle over the Bluetooth of this machine"),
      ],
      takes: socket, BottleRadio.adapter, script, interactive, profile, flash, name, mtu, lies,
      Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let lines = try call[script].map { path throws(CommandFailure) in
      try BottleScript(String(decoding: try TextFile.read(path), as: UTF8.self), from: path).lines
    }
    let profiles: [String: TimerProfile] = [
      "028": .plan028, "034": .plan034, "035": .plan035,
    ]
    let memory = call[flash].map { BottleFlash(path: $0) }
    let host = BottleHost(
      BottleHost.Setup(
        location: try location(call), name: call[name], longestValue: call[mtu] - 3,
        profile: profiles[call[profile]] ?? .plan035, flash: memory,
        countsDeleted: call[lies], content: try memory?.read() ?? BottleFlash.Content()),
      BottleReporter(command: call.command, console: call.console, isJSON: call[Shared.json]))
    try await host.open()
    let isTyped = call[interactive]
    let command = call.command
    await CommandSignals.cancelling(
      onSecondStop: { CommandSignals.abandon(command) },
      stopping: { CommandSignals.watchOutput(of: command) }
    ) {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await host.run() }
        group.addTask { await play(lines ?? [], on: host) }
        if isTyped { group.addTask { await type(on: host, call) } }
        await withTaskCancellationHandler {
          await host.ended()
        } onCancel: {
          host.give(.quit)
        }
        group.cancelAll()
      }
    }
  }

  /// Returns the location of the radio that the options select.
  ///
  /// - Throws: A failure if the options select two radios, or if this machine has no usable
  ///   Bluetooth.
  private static func location(_ call: Invocation) throws(CommandFailure) -> BottleHost.Location {
    guard let path = call[socket] else {
      try BottleRadio.check(call, instead: "--socket PATH")
      return .adapter(call[BottleRadio.adapter])
    }
    guard call[BottleRadio.adapter] == nil else {
      throw CommandFailure(.usage, "--socket and --adapter exclude each other")
    }
    return .socket(path)
  }

  private static func play(_ lines: [BottleScript.Line], on host: BottleHost) async {
    let clock = BootClock()
    for line in lines {
      if line.wait > .zero {
        guard (try? await clock.wait(until: clock.now.advanced(by: line.wait))) != nil else {
          return
        }
      }
      host.give(line.action)
    }
  }

  private static func type(on host: BottleHost, _ call: Invocation) async {
    var number = 0
    for await line in StandardInput(InputLines(longest: 100)) {
      number += 1
      guard let text = line.text else {
        call.diagnostic("line \(number) is longer than 100 bytes, or is no UTF-8")
        continue
      }
      let fields = text.split(whereSeparator: \.isWhitespace)
      guard !fields.isEmpty else { continue }
      guard let action = BottleAction(fields) else {
        call.diagnostic("line \(number), \(text.printable), is no action. \(BottleAction.help)")
        continue
      }
      host.give(action)
    }
  }
}

extension Format<String> {
  /// The format for a bottle's name, which must fit into its field in the protocol of the radio
  /// socket.
  fileprivate static let bottleName = Format(
    placeholder: "NAME", expectation: "a name of 1 to 64 bytes"
  ) {
    (1...64).contains($0.utf8.count) ? $0 : nil
  }
}
