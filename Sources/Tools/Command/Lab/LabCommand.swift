import Glibc
import HoldfastChildProcesses
import HoldfastCommandKit
import HoldfastCore
import HoldfastDemo
import HoldfastJSON
import HoldfastOwnerFiles

/// The command `holdfast lab`: shows links live, with buttons for what happens to them.
enum LabCommand {
  private static let port = Parameter.option(
    "port", .port, default: 0, "the TCP port of the page; 0 uses a free one")
  private static let features = Parameter.option(
    "feature", Format<String>.choice("NAME", of: Lab.names).list(), default: Lab.names,
    "run these features")
  private static let opens = Parameter.flag(
    "open", "also open the page in the browser, with xdg-open")

  static var command: Command {
    Command(
      "lab", "show links live on a page, with buttons for what happens to them",
      details: [
        """
        Runs the backend, a network with faults, and an app of each feature, which is a process of \
        its own, on this machine. The page shows the picture of each link while it grows. Its \
        buttons cut the network, restart or kill the server, put the app to sleep, and more; what \
        a person writes on the page is sent by the app.
        """,
        """
        The page is served on 127.0.0.1 only. Its address contains a secret: whoever has the \
        address can press the buttons. Ctrl-C ends all processes and removes their files. With \
        --json the address is one object: event "lab", url and features.
        """,
      ],
      examples: [
        .init("holdfast lab", "print the address of the page, and run until Ctrl-C"),
        .init("holdfast lab --open --feature \(Lab.names[0])", "one feature, in the browser"),
      ],
      takes: port, features, opens, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let names = Lab.names.filter(call[features].contains)
    let lab = Choice(features: names, port: call[port], opens: call[opens])
    try await show(lab, call)
  }

  /// A lab that options select.
  struct Choice: Sendable {
    var features: [String]
    var port: UInt16 = 0
    var opens = false
    var playsChapters = false
  }

  /// Runs a lab until a signal arrives.
  static func show(_ choice: Choice, _ call: Invocation) async throws(CommandFailure) {
    guard let program = Demo.ownProgram else {
      throw CommandFailure(.failed, "the path of this program cannot be determined")
    }
    // The files of the lab, and those of its processes, are for their owner only.
    _ = umask(0o077)
    let lab = Lab(
      program: program, features: Set(choice.features), port: choice.port,
      playsChapters: choice.playsChapters)
    let (command, output) = (call.command, OrderlyOutput())
    do throws(DemoFailure) {
      try await CommandSignals.cancelling(
        onSecondStop: { CommandSignals.abandon(command) },
        stopping: { CommandSignals.watchOutput(of: command) }, output: output
      ) { () async throws(DemoFailure) in
        try await lab.run { address, folder in
          announce(address, choice, call, on: output)
          if choice.opens { open(address, folder, call) }
        }
      }
    } catch {
      throw CommandFailure(.failed, error.description)
    }
    try output.check()
  }

  private static func announce(
    _ address: String, _ choice: Choice, _ call: Invocation, on output: OrderlyOutput
  ) {
    if call[Shared.json] {
      var writer = JSONWriter(capacity: 256)
      writer.object {
        $0.entry("event", "lab")
        $0.entry("url", address)
        $0.entry("features", choice.features)
      }
      output.line(String(decoding: writer.terminalBytes, as: UTF8.self))
    } else {
      output.line("\(call.console.style.heading("the lab")) is at \(address)")
      output.line("  end     Ctrl-C")
    }
  }

  /// Opens the page in the browser. Other users can see the arguments of a program, so they name a
  /// file with the address, which only its owner can read.
  private static func open(_ address: String, _ folder: String, _ call: Invocation) {
    let file = "\(folder)/open.html"
    let page =
      "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=\(address)\"><title>Lab</title>\n"
    do throws(OwnerFileError) {
      try OwnerFile(file, maxBytes: 4_096, isSecret: true).replace(with: Array(page.utf8))
    } catch {
      return call.diagnostic(
        "\(file) could not be written (\(error)); open the address yourself")
    }
    do throws(ChildFailure) {
      let browser = try ChildProcess(ChildLaunch("/usr/bin/xdg-open", ["xdg-open", file]))
      browser.whenEnded { [browser] ending in
        _ = browser
        guard ending != .exited(0) else { return }
        call.diagnostic("the browser could not be opened; open the address yourself")
      }
    } catch {
      call.diagnostic(
        "the browser could not be opened (\(error.reason)); open the address yourself")
    }
  }
}
