import HoldfastCore
import HoldfastLinkChecks
import HoldfastServerParts
import HoldfastSyncChecks
import HoldfastWorldKernel

/// A piece of an upload, which the server writes to the upload's file.
public struct SyncPiece: Sendable {
  var token: StoreToken
  var id: UUID128
  var record: UploadRecord
  var offset: Int
  var bytes: [UInt8]
  var isLast: Bool

  var end: Int { offset + bytes.count }
}

/// A checker that detects bytes that are sent again although the server has reported that it has
/// them.
struct SyncPieces: Sendable {
  /// The state of an upload as last reported to its phone.
  private struct Known {
    var url: String
    var offset: Int
  }

  private var known: [String: Known] = [:]
  /// The URLs at which the phone can resume uploads, even in a later process.
  private var tickets: [String: (url: String, isGzip: Bool)] = [:]
  /// The highest offset that the server has reported for each URL.
  private var most: [String: Int] = [:]

  mutating func noted(
    _ file: String, _ fact: SyncUploadFact, _ now: Instant, _ found: inout Findings
  ) {
    switch fact {
    case .begins(let isGzip):
      if let ticket = tickets[file], ticket.isGzip == isGzip {
        found.add(.resent, at: now, "\(file) starts over although \(ticket.url) can be resumed")
      }
    case .storedURL(let url, let isGzip): tickets[file] = (url, isGzip)
    case .appends(let url, let from, let count):
      guard let known = known[file], known.url == url else {
        return found.add(.resent, at: now, "\(file) is sent although its offset is not known")
      }
      if known.offset != from {
        found.add(
          .resent, at: now,
          "\(file) is sent from \(from) to \(from + count) although the server has \(known.offset)")
      }
    case .answered(let url, let status, let offset, let isComplete):
      noteAnswer(file, url, status, isComplete ? nil : offset, now, &found)
      if isComplete { (known[file], tickets[file]) = (nil, nil) }
    }
  }

  private mutating func noteAnswer(
    _ file: String, _ url: String, _ status: Int, _ offset: Int?, _ now: Instant,
    _ found: inout Findings
  ) {
    if let offset, 200..<300 ~= status || status == 409 {
      if let most = most[url], offset < most {
        found.add(.lost, at: now, "\(url) has \(offset) bytes after \(most)")
      }
      most[url] = offset
      known[file] = Known(url: url, offset: offset)
    }
    // The upload may start over in three cases: after a conflict, after a refusal that a retry
    // cannot resolve, and after a success without an offset, for example from a proxy.
    let isTransient =
      [401, 408, 425, 429].contains(status) || (500..<600 ~= status && status != 501)
    let isOffset = 200..<300 ~= status && offset != nil
    if !isTransient, !isOffset { tickets[file] = nil }
  }
}
