import Foundation
import HoldfastCore
import HoldfastPorts
import Testing

@testable import HoldfastCurlNetwork

#if canImport(Glibc)
  import Glibc
#endif

/// Tests that lost sockets leave no descriptors behind.
@Suite(.timeLimit(.minutes(60))) struct DescriptorTests {
  @Test func `lost sockets leave no descriptor behind, though their handles are kept`() async throws
  {
    let server = try TestServer { peer in
      guard peer.upgrade() != nil else { return }
      peer.end()
    }
    let network = try CurlNetwork()
    var handles: [any SocketHandle] = []
    for _ in 1...60 {
      let socket = await Opened(network, .to(server.socketURL))
      #expect(await socket.failure() == .ended)
      handles.append(socket.handle)
    }
    while Self.descriptors(to: server.listener.port) > 0 { await Task.yield() }
    #expect(handles.count == 60)
  }

  @Test func `the descriptor count includes an open socket`() async throws {
    let server = try TestServer { peer in
      _ = peer.upgrade()
      peer.drain()
    }
    let network = try CurlNetwork()
    let socket = await Opened(network, .to(server.socketURL))
    guard case .opened = await socket.next() else {
      Issue.record("it did not open")
      return
    }
    #expect(Self.descriptors(to: server.listener.port) == 1)
    await socket.handle.close(code: 1000, reason: "")
    while Self.descriptors(to: server.listener.port) > 0 { await Task.yield() }
  }

  /// Returns the number of this process's descriptors that are connected to the port. Descriptors
  /// of other tests are not counted.
  private static func descriptors(to port: UInt16) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.compactMap { Int32($0) }.count { file in
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let found = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe getpeername(file, $0, &length) == 0
        }
      }
      return found && address.sin_family == sa_family_t(AF_INET)
        && UInt16(bigEndian: address.sin_port) == port
    }
  }
}
