import HoldfastCore
import HoldfastCurlNetwork
import HoldfastPorts
import HoldfastTestKit
import Synchronization

/// A phone's sockets, compared with other clients that connect to the same server.
enum Sockets {
  static func benchmarks(isFull: Bool) -> [Benchmark] {
    let count = isFull ? 2_000_000 : 400_000
    let certificate = Rounds.Shared { try await Certificate() }
    let plain: Trust = { nil }
    let secured: Trust = { try await certificate.value }
    return receiving(count, "", plain)
      + receiving(count, "-tls", secured) + [
        connecting(
          "dial-plain", "connect and upgrade by a client, median", isFull, plain),
        connecting(
          "dial-tls", "the same with a full TLS 1.3 handshake", isFull, secured),
        resuming(isFull, secured),
        memory("dial-memory", "memory of a client for one idle socket", plain),
        memory("dial-memory-tls", "the same over TLS", secured),
      ] + idling(isFull)
  }

  /// A function that returns the server's certificate, or nil for a server without TLS.
  private typealias Trust = @Sendable () async throws -> Certificate?

  private static func receiving(
    _ count: Int, _ suffix: String, _ certificate: @escaping Trust
  ) -> [Benchmark] {
    // Python's library creates a string for each message anyway.
    let python = Contender(name: "Python websockets") {
      try await peer(try .pinned("receive.py"), ["\(count / 10)"], await certificate())
    }
    func node(_ more: [String] = []) -> Contender {
      Contender(name: "Node ws") {
        try await peer(try .node("receive.js"), ["\(count / 4)"] + more, await certificate())
      }
    }
    return [
      Benchmark(
        name: "receive" + suffix, question: "messages of 300 bytes that a client is called with",
        unit: "messages/s",
        subject: Contender(name: "holdfast, called in turns") {
          try await receive(count, await certificate())
        },
        peers: [
          python, node(),
          libcurl(count, "receive", certificate),
        ], rounds: (3, 5)),
      Benchmark(
        name: "receive-sequence" + suffix,
        question: "the same read from an AsyncSequence, a String made of each",
        unit: "messages/s",
        subject: Contender(name: "holdfast, a stream of turns") {
          try await iterate(count, await certificate())
        },
        peers: [python, node(["--text"])], rounds: (3, 5)),
    ]
  }

  private static func connecting(
    _ name: String, _ question: String, _ isFull: Bool, _ certificate: @escaping Trust
  ) -> Benchmark {
    let count = isFull ? 300 : 100
    return Benchmark(
      name: name, question: question, unit: "us", better: .less,
      subject: Contender(name: "holdfast") {
        try await dial(count, await certificate(), resumes: false)
      },
      peers: [
        Contender(name: "Python websockets") {
          try await peer(
            try .pinned("receive.py"), ["\(count)", "--connect"], await certificate())
        },
        Contender(name: "Node ws") {
          try await peer(try .node("receive.js"), ["\(count)", "--connect"], await certificate())
        },
        libcurl(count, "fresh", certificate),
      ], rounds: (3, 5))
  }

  private static func resuming(_ isFull: Bool, _ certificate: @escaping Trust) -> Benchmark {
    let count = isFull ? 300 : 100
    return Benchmark(
      name: "dial-resumed", question: "the same with a resumed TLS 1.3 session", unit: "us",
      better: .less,
      subject: Contender(name: "holdfast") {
        try await dial(count, await certificate(), resumes: true)
      },
      peers: [
        libcurl(count, "connect", certificate)
      ], rounds: (3, 5))
  }

  private static func memory(
    _ name: String, _ question: String, _ certificate: @escaping Trust
  ) -> Benchmark {
    Benchmark(
      name: name, question: question, unit: "bytes", better: .less,
      subject: Contender(name: "holdfast") {
        let certificate = try await certificate()
        let trust = certificate.map { ["--authorities", $0.chain] } ?? []
        return try await peer(.ours("hold"), ["500"] + trust, certificate, trusts: false)
      },
      peers: [
        libcurl(500, "hold", certificate)
      ], rounds: (3, 5))
  }

  /// Returns the contender that uses libcurl alone, the minimum for a client built on libcurl.
  private static func libcurl(
    _ count: Int, _ mode: String, _ certificate: @escaping Trust
  ) -> Contender {
    Contender(name: "libcurl alone") {
      try await peer(LoadGenerator.libcurl, ["\(count)", mode], await certificate())
    }
  }

  /// Returns the benchmarks of a client with idle sockets.
  private static func idling(_ isFull: Bool) -> [Benchmark] {
    let echoes = isFull ? "5000" : "1000"
    let (sockets, seconds) = ("5000", isFull ? "10" : "2")
    return [
      Benchmark(
        name: "client-echo", question: "300 bytes there and back for a client, median",
        unit: "us", better: .less,
        subject: Contender(name: "holdfast") {
          try await peer(.ours("hold"), ["0", "--echo", echoes], nil)
        },
        peers: [], rounds: (3, 5)),
      Benchmark(
        name: "client-echo-in-crowd", question: "the same while 5,000 others are open",
        unit: "us", better: .less,
        subject: Contender(name: "holdfast") {
          try await peer(.ours("hold"), [sockets, "--echo", echoes], nil)
        },
        peers: [
          Contender(name: "the socket alone", aim: 2) {
            try await peer(.ours("hold"), ["0", "--echo", echoes], nil)
          }
        ], rounds: (3, 5)),
      Benchmark(
        name: "client-idle-crowd",
        question: "a core's time for 1,000 idle sockets of a client, each pinged every second",
        unit: "%", better: .less,
        subject: Contender(name: "holdfast") {
          try await peer(.ours("hold"), ["1000", "--idle", seconds], nil, pings: true)
        },
        peers: [], rounds: (3, 5)),
    ]
  }

  // MARK: Measuring

  /// Runs a body with the URL of a server and a configuration that trusts this server.
  private static func with<R: Sendable>(
    _ certificate: Certificate?, pings: Bool = false,
    _ body: (String, CurlConfiguration) async throws -> R
  ) async throws -> R {
    let server = try await CrowdServer.start(
      .holdfast, certificate.map { .tls($0) } ?? .plain, pings: pings)
    let scheme = certificate == nil ? "ws" : "wss"
    let configuration = CurlConfiguration(
      authorities: certificate?.chain, proxy: "", offersDeflate: false)
    do {
      let result = try await body("\(scheme)://127.0.0.1:\(server.port)/", configuration)
      await server.end()
      return result
    } catch {
      await server.end()
      throw error
    }
  }

  private static func request(_ url: String) -> SocketRequest {
    SocketRequest(url: url, openTimeout: .seconds(10), maxMessageBytes: 65_536)
  }

  private static func receive(
    _ count: Int, _ certificate: Certificate?
  ) async throws -> Double {
    try await with(certificate) { url, configuration in
      try await receive(count, from: url, over: try CurlNetwork(configuration))
    }
  }

  /// Returns how many messages of the server arrive per second.
  static func receive(
    _ count: Int, from url: String, over dialer: any SocketDialer
  ) async throws -> Double {
    let (events, sink) = AsyncStream<Void>.makeStream()
    let left = Mutex(count)
    let socket = await dialer.openInTurns(request(url)) { turn in
      var texts = 0
      for event in turn {
        switch event {
        case .opened: sink.yield()
        case .text: texts += 1
        case .failed: sink.finish()
        case .binary, .ping, .pong, .stalled, .oversized: break
        }
      }
      let isOver = left.withLock {
        $0 -= texts
        return $0 <= 0
      }
      if isOver { sink.finish() }
    }
    return try await rate(count, socket, events)
  }

  private static func iterate(
    _ count: Int, _ certificate: Certificate?
  ) async throws -> Double {
    try await with(certificate) { url, configuration in
      let (turns, sink) = AsyncStream<[SocketEvent]>.makeStream()
      let (events, opened) = AsyncStream<Void>.makeStream()
      let socket = try await CurlNetwork(configuration).openInTurns(request(url)) { turn in
        sink.yield(turn)
      }
      let reader = Task {
        var (left, letters) = (count, 0)
        for await turn in turns {
          for event in turn {
            if case .opened = event { opened.yield() }
            guard case .text(let bytes) = event else { continue }
            letters += String(decoding: bytes, as: UTF8.self).utf8.count
            left -= 1
          }
          if left <= 0 { break }
        }
        opened.finish()
        return letters
      }
      let rate = try await rate(count, socket, events)
      guard await reader.value == count * 300 else { throw Unavailable("letters were lost") }
      return rate
    }
  }

  /// Requests the messages once the socket is open, and returns how many arrive per second.
  private static func rate(
    _ count: Int, _ socket: any SocketHandle, _ events: AsyncStream<Void>
  ) async throws -> Double {
    var start: ContinuousClock.Instant?
    for await _ in events {
      start = .now
      await socket.send(text: Array("push \(count)".utf8))
    }
    guard let start else { throw Unavailable("the socket did not open") }
    let taken = start.duration(to: .now)
    await socket.close(code: 1000, reason: "")
    return Double(count) / taken.inSeconds
  }

  /// Returns the median time to open a socket, in microseconds.
  private static func dial(
    _ count: Int, _ certificate: Certificate?, resumes: Bool
  ) async throws -> Double {
    try await with(certificate) { url, configuration in
      var network = try CurlNetwork(configuration)
      return try await dial(count, url) {
        if certificate != nil, !resumes { network = try CurlNetwork(configuration) }
        return network
      }
    }
  }

  /// Returns the median time to open a socket with the dialer for it, in microseconds.
  static func dial(
    _ count: Int, _ url: String, over dialer: () throws -> any SocketDialer
  ) async throws -> Double {
    var times: [Double] = []
    for number in 0...count {
      let dialer = try dialer()
      let start = ContinuousClock.now
      let socket = try await dialer.opened(url)
      // The first connection is excluded, since it has no cached data and no session to resume.
      if number > 0 { times.append(start.duration(to: .now).inSeconds * 1e6) }
      // A phone holds at most five sockets.
      await socket.close(code: 1000, reason: "")
    }
    return Statistics.median(times)
  }

  private static func peer(
    _ peer: Peer, _ arguments: [String], _ certificate: Certificate?, trusts: Bool = true,
    pings: Bool = false
  ) async throws -> Double {
    try await with(certificate, pings: pings) { url, _ in
      let address = certificate == nil ? url : url.replacing("127.0.0.1", with: "localhost")
      let trust = trusts ? certificate.map { [$0.chain] } ?? [] : []
      return try await peer.figure([address, arguments[0]] + trust + arguments.dropFirst())
    }
  }
}
