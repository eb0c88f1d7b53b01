import CHoldfastLinux
import Foundation
import Glibc
import Synchronization
import Testing

@testable import HoldfastNetlink

/// Tests of signals that arrive while a thread waits in a system call.
@Suite(.timeLimit(.minutes(60))) struct InterruptedReadTests {
  private static let handled = Atomic<Int>(0)

  @Test func `a signal does not end the wait for the kernel's answer`() async throws {
    var action = sigaction()
    // Without `SA_RESTART`, the system call ends with `EINTR`.
    unsafe action.__sigaction_handler.sa_handler = { _ in
      InterruptedReadTests.handled.add(1, ordering: .relaxed)
    }
    #expect(unsafe sigaction(SIGWINCH, &action, nil) == 0)
    defer { signal(SIGWINCH, SIG_DFL) }
    let (waiting, began) = AsyncStream.makeStream(
      of: (thread: pthread_t, task: String, file: Int32).self)
    let (answers, answered) = AsyncStream.makeStream(of: Result<Int, NetlinkFailure>.self)
    Thread.detachNewThread {
      // The threads of the pool block signals, and a new thread inherits their mask.
      var none = sigset_t()
      _ = unsafe sigemptyset(&none)
      _ = unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
      let answer = Result { () throws(NetlinkFailure) in
        let socket = try NetlinkSocket(groups: 0)
        let task = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self"))
        began.yield((pthread_self(), task ?? "", socket.descriptor))
        return try socket.receive(flags: 0).count
      }
      answered.yield(answer)
    }
    var threads = waiting.makeAsyncIterator()
    let reader = try #require(await threads.next())
    for number in 1...3 {
      while !Self.sleeps(reader.task) { await Task.yield() }
      #expect(pthread_kill(reader.thread, SIGWINCH) == 0)
      while Self.handled.load(ordering: .relaxed) < number { await Task.yield() }
    }
    Self.ask(on: reader.file)
    var results = answers.makeAsyncIterator()
    let result = try #require(await results.next())
    #expect(try result.get() > 16)
  }

  /// Returns whether the kernel reports a thread as sleeping.
  private static func sleeps(_ task: String) -> Bool {
    let stat = try? String(contentsOfFile: "/proc/\(task)/stat", encoding: .utf8)
    return stat?.split(separator: ")").last?.hasPrefix(" S") ?? false
  }

  /// Requests the list of links, so that the waiting thread receives an answer.
  private static func ask(on file: Int32) {
    var header = nlmsghdr()
    header.nlmsg_len = 20
    header.nlmsg_type = UInt16(RTM_GETLINK)
    header.nlmsg_flags = UInt16(NLM_F_REQUEST | NLM_F_DUMP)
    header.nlmsg_seq = 1
    var request = unsafe withUnsafeBytes(of: &header) { unsafe Array($0) }
    request += [0, 0, 0, 0]
    #expect(unsafe send(file, request, request.count, 0) == request.count)
  }
}
