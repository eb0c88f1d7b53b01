import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastCurlNetwork

/// Tests of the notes that a connection over libcurl makes for a journal.
@Suite(.timeLimit(.minutes(60)))
struct NoteTests {
  private let notes = Mailbox<ConnectionNote>()

  private func request(_ url: String) -> SocketRequest {
    var request = SocketRequest.to(url)
    request.note = { [notes] in notes.put($0) }
    return request
  }

  private func opening() async throws -> ConnectionNote.Opening {
    guard case .opening(let opening)? = await notes.next() else {
      throw MissingNote()
    }
    return opening
  }

  private struct MissingNote: Error {}

  @Test func `a connection over TLS has four phases, whose sum fits into its time`() async throws {
    let server = try await TLSServer(.good)
    let network = try await TLSTests.trusting()
    let clock = BootClock()
    let begin = clock.now
    let socket = await Opened(
      network, request("wss://localhost:\(server.port)/socket"))
    guard case .opened? = await socket.next() else { Issue.record("not open"); return }
    let length = begin.duration(to: clock.now)
    let opening = try await opening()
    #expect(opening.phases.map(\.phase) == [.resolve, .connect, .tls, .upgrade])
    #expect(opening.phases.allSatisfy { $0.length > .zero })
    #expect(opening.failed == nil)
    #expect(opening.total <= length)
    _ = await socket.nextAfterOpening()
    _ = await socket.next()
    await socket.handle.close(code: 1000, reason: "")
    guard case .traffic(let received, let sent)? = await notes.next() else {
      Issue.record("no bytes")
      return
    }
    #expect((200_000...201_000).contains(received))
    #expect((100...1_000).contains(sent))
    #expect(notes.count == 0)
  }

  @Test func `a connection without TLS has no phase of TLS`() async throws {
    let server = try SocketTests.echo()
    let socket = await Opened(try newDialer(), request(server.socketURL))
    _ = await socket.next()
    #expect(try await opening().phases.map(\.phase) == [.resolve, .connect, .upgrade])
    await socket.handle.close(code: 1000, reason: "")
  }

  @Test func `an attempt that TLS ends names that phase`() async throws {
    let server = try await TLSServer(.expired)
    let network = try await TLSTests.trusting()
    let socket = await Opened(network, request(server.socketURL))
    guard case .tls(.expired, _)? = await socket.failure() else {
      Issue.record("not refused"); return
    }
    let opening = try await opening()
    #expect(opening.failed == .tls)
    #expect(opening.phases.map(\.phase) == [.resolve, .connect, .tls])
    #expect(opening.upgrade == nil)
  }

  @Test func `an attempt that is refused names the phase of the connection`() async throws {
    let listener = try Listener(backlog: nil)
    let socket = await Opened(try newDialer(), request("ws://127.0.0.1:\(listener.port)/socket"))
    #expect(await socket.failure() == .refused)
    let opening = try await opening()
    #expect(opening.failed == .connect)
    #expect(opening.phases.map(\.phase) == [.resolve, .connect])
  }

  @Test func `an unknown name ends the first phase`() async throws {
    let socket = await Opened(try newDialer(), request("wss://nowhere.invalid/socket"))
    #expect(await socket.failure() != nil)
    let opening = try await opening()
    #expect(opening.failed == .resolve)
    #expect(opening.phases.map(\.phase) == [.resolve])
  }

  @Test func `a refused upgrade ends the phase of the upgrade`() async throws {
    let server = try TestServer { peer in
      _ = peer.request()
      peer.write(Array("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".utf8))
      peer.drain()
    }
    let socket = await Opened(try newDialer(), request(server.socketURL))
    #expect(await socket.failure() != nil)
    let opening = try await opening()
    #expect(opening.failed == .upgrade)
    #expect(opening.phases.map(\.phase) == [.resolve, .connect, .upgrade])
    #expect(notes.count == 0)
  }
}
