import Foundation
import HoldfastRigs
import HoldfastTestKit
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A running backend whose port was chosen by the kernel.
private struct Served {
  let process: LabProcess
  let url: String
  let lines: LineReader
  let log: LineReader

  init(_ arguments: String..., data: String) async throws {
    process = try CommandProcess.start(
      ["serve", "--port", "0", "--json", "--data", data] + arguments)
    lines = LineReader(process.lines)
    log = LineReader(process.diagnostics)
    let first = try [String: Any].reading(await lines.next())
    #expect(first["event"] as? String == "listening")
    url = try #require(first["url"] as? String)
  }

  var port: String { url.split(separator: ":").last.map(String.init) ?? "" }

  /// Returns the next log entry for `event`, or an empty dictionary if the log ends first.
  func logged(_ event: String) async throws -> [String: Any] {
    while case let line = await log.next(), !line.isEmpty {
      let object = try [String: Any].reading(line)
      if object["event"] as? String == event { return object }
    }
    return [:]
  }

  /// Requests a path, and returns the status and the body of the response.
  func ask(_ path: String) async throws -> [String] {
    let client = try LabProcess([
      "python3", "-c",
      """
      import urllib.request
      answer = urllib.request.urlopen('\(url)\(path)')
      print(answer.status, answer.read().decode())
      """,
    ])
    return await CommandProcess.outcome(of: client).output
  }
}

@Suite(.timeLimit(.minutes(60))) struct CommandServeTests {
  @Test func `--new-epoch starts a new epoch, which is stored`() async throws {
    try await CommandProcess.scratch { directory in
      var epochs: [String] = []
      for arguments in [[], ["--new-epoch"], []] {
        let process = try CommandProcess.start(
          ["serve", "--port", "0", "--json", "--data", directory + "/data"] + arguments)
        #expect(await LineReader(process.lines).next().contains("listening"))
        process.signal(SIGTERM)
        #expect(await process.exit() == 0)
        let shell = try LabProcess([
          "python3", "-c",
          """
          import sqlite3
          for name, table in ('messages', 'log'), ('sync', 'store'):
            print(sqlite3.connect('\(directory)/data/' + name + '.sqlite').execute(
              'select epoch from ' + table).fetchone()[0])
          """,
        ])
        epochs += await CommandProcess.outcome(of: shell).output
      }
      #expect(epochs.count == 6)
      // For each run, the epoch of the messages precedes the epoch of the synced samples.
      for log in [0, 1] {
        #expect(epochs[log] != epochs[2 + log])
        #expect(epochs[2 + log] == epochs[4 + log])
      }
    }
  }

  @Test func `serves until it receives a signal, and drains first`() async throws {
    try await CommandProcess.scratch { directory in
      let served = try await Served(data: directory + "/data")
      #expect(served.url.hasPrefix("http://127.0.0.1:"))
      #expect(try await served.ask("/healthz") == [#"200 {"status":"ok"}"#])
      served.process.signal(SIGTERM)
      #expect(await served.lines.next() == #"{"event":"draining"}"#)
      #expect(await served.lines.next() == #"{"event":"stopped"}"#)
      #expect(await served.lines.next() == "")
      #expect(await served.process.exit() == 0)
      #expect(try await served.logged("stopped").isEmpty == false)
      let facts = try FileManager.default.attributesOfItem(atPath: directory + "/data")
      #expect(facts[.posixPermissions] as? Int == 0o700)
    }
  }

  @Test func `drains although nobody reads its output`() async throws {
    try await CommandProcess.scratch { directory in
      let process = try LabProcess([
        "python3", "-c",
        """
        import signal, subprocess
        server = subprocess.Popen(
          ["\(CommandProcess.path)", "serve", "--port", "0", "--json", "--data", "\(directory)"],
          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        server.stdout.readline()
        server.stdout.close()
        server.send_signal(signal.SIGTERM)
        print(b'"event":"stopped"' in server.stderr.read(), server.wait())
        """,
      ])
      #expect(await CommandProcess.outcome(of: process).output == ["True 0"])
    }
  }

  @Test func `ends immediately after a second signal`() async throws {
    try await CommandProcess.scratch { directory in
      let served = try await Served(data: directory)
      // Stop the process first, so that it receives both signals together even on a busy machine.
      for signal in [SIGSTOP, SIGINT, SIGTERM, SIGCONT] { served.process.signal(signal) }
      #expect(await served.process.exit() == 1)
      var log: [String] = []
      while case let line = await served.log.next(), !line.isEmpty { log.append(line) }
      // Log lines of the interrupted drain may follow the message.
      #expect(
        log.contains("holdfast serve: ended immediately by a second signal, without draining"))
    }
  }

  @Test func `reloads removed members on a hang-up, and keeps running if the file is invalid`()
    async throws
  {
    try await CommandProcess.scratch { directory in
      let served = try await Served(data: directory)
      _ = try await served.logged("listening")
      let path = directory + "/removed.json"
      try #"{"removed":[{"user":"ann","shop":"bakery"}]}"#.write(
        toFile: path, atomically: true, encoding: .utf8)
      served.process.signal(SIGHUP)
      #expect(try await served.logged("removed")["count"] as? Int == 1)
      try #"{"members":[]}"#.write(toFile: path, atomically: true, encoding: .utf8)
      served.process.signal(SIGHUP)
      #expect(
        try await served.logged("reload_failed")["detail"] as? String
          == "\(path): a key other than a single \"removed\" at byte 11")
      #expect(try await served.ask("/healthz") == [#"200 {"status":"ok"}"#])
      served.process.signal(SIGTERM)
      #expect(await served.process.exit() == 0)
    }
  }

  @Test func `logs that descriptors ran out, and continues to serve`() async throws {
    try await CommandProcess.scratch { directory in
      let process = try LabProcess([
        "python3", "-c",
        """
        import json, resource, socket, subprocess, urllib.request
        server = subprocess.Popen(
          ["\(CommandProcess.path)", "serve", "--port", "0", "--json", "--data", "\(directory)"],
          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        url = json.loads(server.stdout.readline())["url"]
        port = int(url.rsplit(":", 1)[1])
        crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(64)]
        for line in server.stderr:
          if json.loads(line)["event"] == "starved": break
        print(json.loads(line)["detail"])
        for one in crowd: one.close()
        print(urllib.request.urlopen(url + "/healthz").status)
        server.terminate()
        server.stderr.read()
        print(server.wait())
        """,
      ])
      let outcome = await CommandProcess.outcome(of: process)
      #expect(outcome.output == ["Too many open files", "200", "0"])
    }
  }

  @Test func `uses as many descriptors as the limit allows`() async throws {
    try await CommandProcess.scratch { directory in
      let process = try LabProcess([
        "python3", "-c",
        """
        import json, resource, socket, subprocess, urllib.request
        server = subprocess.Popen(
          ["\(CommandProcess.path)", "serve", "--port", "0", "--json", "--data", "\(directory)"],
          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256)))
        url = json.loads(server.stdout.readline())["url"]
        port = int(url.rsplit(":", 1)[1])
        crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(64)]
        print(urllib.request.urlopen(url + "/healthz").status)
        server.terminate()
        print(b"starved" in server.stderr.read(), server.wait())
        """,
      ])
      #expect(await CommandProcess.outcome(of: process).output == ["200", "False 0"])
    }
  }

  @Test func `reports why it cannot serve`() async throws {
    try await CommandProcess.scratch { directory in
      let served = try await Served(data: directory + "/first")
      let second = directory + "/second"
      #expect(
        try await CommandProcess.run("serve", "--port", served.port, "--data", second)
          == .failure(
            1,
            "holdfast serve: cannot listen: 127.0.0.1 port \(served.port): Address already in use"
              + "; use another address or port; --port 0 uses a free port"))
      let locked = try await CommandProcess.run(
        "serve", "--port", "0", "--data", directory + "/first")
      #expect(locked.status == 1)
      #expect(
        locked.errors == [
          "holdfast serve: Another process, or this one, has opened "
            + "\(directory)/first/messages.lock. Close it there, or use another data directory."
        ])
      let certificate = try await CommandProcess.run(
        "serve", "--port", "0", "--data", second, "--tls-cert", "/nowhere", "--tls-key", "/nowhere")
      #expect(certificate.status == 5)
      #expect(certificate.errors.count == 1)
      #expect(!FileManager.default.fileExists(atPath: second))
      try "".write(toFile: directory + "/file", atomically: true, encoding: .utf8)
      let blocked = try await CommandProcess.run(
        "serve", "--port", "0", "--data", directory + "/file")
      #expect(blocked.status == 1)
      #expect(blocked.errors.first?.contains("Not a directory; check the file") == true)
      #expect(blocked.errors.count == 1)
      served.process.signal(SIGTERM)
      #expect(await served.process.exit() == 0)
    }
  }

  @Test(arguments: ["", "sqlite:", "sqlite://"])
  func `stores messages in the given database`(scheme: String) async throws {
    try await CommandProcess.scratch { directory in
      let served = try await Served(
        "--database", "\(scheme)\(directory)/kept/shop.sqlite", data: directory + "/data")
      #expect(FileManager.default.fileExists(atPath: directory + "/kept/shop.sqlite"))
      #expect(!FileManager.default.fileExists(atPath: directory + "/data/messages.sqlite"))
      served.process.signal(SIGTERM)
      #expect(await served.process.exit() == 0)
      let bad = try await CommandProcess.run("serve", "--database", "shop.db")
      #expect(
        bad
          == .failure(
            2,
            "holdfast serve: --database needs a file name that ends with .sqlite; "
              + "such as sqlite:/srv/holdfast/messages.sqlite"))
    }
  }

  @Test func `prints where it serves`() async throws {
    try await CommandProcess.scratch { directory in
      // With so few sockets, no limit on descriptors is too low.
      let process = try CommandProcess.start([
        "serve", "--port", "0", "--data", directory, "--max-streams", "100", "--max-phones", "100",
        "--max-sessions", "100",
      ])
      let lines = LineReader(process.lines)
      let first = await lines.next()
      let start = "holdfast serves shop messages, phones, assistants and sessions at "
      #expect(first.hasPrefix(start + "http://127.0.0.1:"))
      #expect(await lines.next() == "  data    \(directory)")
      #expect(await lines.next() == "  MCP     \(first.dropFirst(start.count))/mcp, for assistants")
      process.signal(SIGTERM)
      #expect(await process.exit() == 0)
    }
  }

  @Test(arguments: [
    ("0.0.0.0", "http://0.0.0.0:", " (every IPv4 address of this machine; on this machine "),
    ("::", "http://[::]:", " (every address of this machine; on this machine http://[::1]:"),
  ])
  func `lists every address if it listens on all, and warns without TLS`(
    host: String, address: String, reach: String
  ) async throws {
    try await CommandProcess.scratch { directory in
      let process = try CommandProcess.start(
        ["serve", "--port", "0", "--host", host, "--data", directory])
      let lines = LineReader(process.lines)
      let first = await lines.next()
      let start = "holdfast serves shop messages, phones, assistants and sessions at "
      #expect(first.hasPrefix(start + address))
      #expect(first.contains(reach))
      #expect(await lines.next().hasPrefix("  warning other machines can connect, and everyone"))
      process.signal(SIGTERM)
      #expect(await process.exit() == 0)
      var events: [String] = []
      for await line in process.diagnostics {
        events += [try [String: Any].reading(line)["event"] as? String ?? ""]
      }
      #expect(events.prefix(2) == ["listening", "exposed"])
    }
  }

  @Test func `admits the named hosts and origins`() async throws {
    try await CommandProcess.scratch { directory in
      let served = try await Served(
        "--allow-host", "Relay.example", "--allow-host", "other.example:8443", "--allow-origin",
        "https://app.example:443", "--allow-host", "third.example:443", data: directory + "/data")
      let cases = [
        ("relay.example", "https://app.example", 200), ("other.example:8443", "", 200),
        ("third.example", "", 200), ("other.example", "", 421),
        ("relay.example", "https://evil.example", 403),
      ]
      for (host, origin, status) in cases {
        let client = try LabProcess([
          "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}\\n", "-H", "Host: \(host)", "-H",
          "Origin: \(origin)", served.url + "/mcp/tools",
        ])
        #expect(await CommandProcess.outcome(of: client).output == ["\(status)"])
      }
      served.process.signal(SIGTERM)
      #expect(await served.process.exit() == 0)
    }
  }

  @Test(arguments: [
    ["--allow-host", "https://relay.example"], ["--allow-host", "relay.example/"],
    ["--allow-host", "relay.example:65536"], ["--allow-origin", "https://app.example:0"],
    ["--allow-origin", "app.example"], ["--allow-origin", "https://app.example/"],
    ["--allow-origin", "https://"], ["--allow-origin", "ftp://app.example"],
  ])
  func `an invalid host or origin is a usage error`(arguments: [String]) async throws {
    let outcome = try await CommandProcess.run(["serve"] + arguments)
    #expect(outcome.status == 2)
    #expect(outcome.errors.first?.contains(arguments[0]) == true)
  }

  @Test(arguments: [
    ("missing", "No such file or directory"), ("folder", "Is a directory"),
    ("text", "Permission denied"),
  ])
  func `a push hook that cannot be executed is refused at the start`(
    name: String, reason: String
  ) async throws {
    try await CommandProcess.scratch { directory in
      try FileManager.default.createDirectory(
        atPath: directory + "/folder", withIntermediateDirectories: false)
      try Data("#!/bin/sh\n".utf8).write(to: URL(filePath: directory + "/text"))
      let hook = "\(directory)/\(name)"
      let outcome = try await CommandProcess.run(
        "serve", "--port", "0", "--data", directory + "/data", "--push-hook", hook)
      #expect(
        outcome
          == .failure(
            1,
            "holdfast serve: the push hook \(hook) cannot be run: \(reason); --push-hook needs "
              + "the path of an executable file (chmod +x)"))
    }
  }
}
