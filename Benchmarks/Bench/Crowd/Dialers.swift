#if HOLDFAST_STANDINS
  import HoldfastAppleNetwork
  import HoldfastCurlNetwork
  import HoldfastPorts

  /// The dialer of Apple's platforms over the stand-in for Network, compared with libcurl's on the same
  /// server.
  ///
  /// Both run the same WebSocket engine. The figures show what the adapter costs; Apple's framework
  /// takes the stand-in's place on a device.
  enum Dialers {
    static func benchmarks(isFull: Bool) -> [Benchmark] {
      let (messages, echoes, dials) = isFull ? (2_000_000, 5_000, 300) : (400_000, 1_000, 100)
      return [
        row(
          "network-receive", "messages of 300 bytes that a client is called with", "messages/s",
          .more
        ) { url, dialer in try await Sockets.receive(messages, from: url, over: dialer) },
        row("network-echo", "300 bytes there and back, median", "us", .less) { url, dialer in
          try await HoldCommand.echoing(dialer, url, echoes)
        },
        row("network-dial", "connect and upgrade, median", "us", .less) { url, dialer in
          try await Sockets.dial(dials, url) { dialer }
        },
      ]
    }

    private static func row(
      _ name: String, _ question: String, _ unit: String, _ better: Benchmark.Better,
      _ figure: @escaping @Sendable (String, any SocketDialer) async throws -> Double
    ) -> Benchmark {
      Benchmark(
        name: name, question: question, unit: unit, better: better,
        subject: Contender(name: "NWConnection's stand-in") {
          try await measure(figure) {
            NetworkDial(NetworkConfiguration(offersDeflate: false))
          }
        },
        peers: [
          Contender(name: "libcurl", aim: better == .more ? 0.9 : 1.1) {
            try await measure(figure) {
              try CurlNetwork(CurlConfiguration(proxy: "", offersDeflate: false))
            }
          }
        ], rounds: (5, 7))
    }

    private static func measure(
      _ figure: (String, any SocketDialer) async throws -> Double,
      over dialer: () throws -> any SocketDialer
    ) async throws -> Double {
      let server = try await CrowdServer.start(.holdfast, .plain)
      do {
        let result = try await figure("ws://127.0.0.1:\(server.port)/", try dialer())
        await server.end()
        return result
      } catch {
        await server.end()
        throw error
      }
    }
  }
#endif
