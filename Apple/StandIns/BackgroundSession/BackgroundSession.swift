// A stand-in for the part of Foundation that Linux lacks: background sessions of URLSession.
@_exported public import Foundation
import Synchronization

@_exported public import class FoundationNetworking.HTTPURLResponse
@_exported public import struct FoundationNetworking.URLRequest
@_exported public import class FoundationNetworking.URLResponse

open class URLSessionConfiguration: NSObject, @unchecked Sendable {
  public let identifier: String?
  public var isDiscretionary = false
  public var sessionSendsLaunchEvents = false
  public var httpShouldSetCookies = true
  /// The process in which the session is created.
  let process: AppProcess

  init(_ identifier: String, _ process: AppProcess) {
    (self.identifier, self.process) = (identifier, process)
  }

  public class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
    URLSessionConfiguration(identifier, AppProcess.current ?? AppProcess(UploadDaemon()))
  }
}

public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)
  func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession)
}

public protocol URLSessionTaskDelegate: URLSessionDelegate {
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
}

// A default body records that nobody answered, so that a misspelled method fails a test.
extension URLSessionDelegate {
  public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}
  public func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
    session.process.daemon.addMisuse("nobody answered urlSessionDidFinishEvents")
  }
}

extension URLSessionTaskDelegate {
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) { session.process.daemon.addMisuse("nobody answered didCompleteWithError") }
}

extension URLSessionDataDelegate {
  public func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data
  ) { session.process.daemon.addMisuse("nobody answered didReceive data") }
}

open class URLSessionTask: NSObject, @unchecked Sendable {
  public enum State: Int, Sendable {
    case running, suspended, canceling, completed
  }

  let transfer: Transfer
  private let process: AppProcess

  init(_ transfer: Transfer, _ process: AppProcess) {
    (self.transfer, self.process) = (transfer, process)
  }

  public var taskIdentifier: Int { transfer.number }
  public var taskDescription: String? {
    get { transfer.state.withLock(\.description) }
    set { if process.isAlive { transfer.state.withLock { $0.description = newValue } } }
  }
  public var originalRequest: URLRequest? { transfer.request }
  public var response: URLResponse? { transfer.state.withLock(\.response) }
  public var state: State { transfer.state.withLock(\.stage) }
  public func resume() { if process.isAlive { process.daemon.resume(transfer) } }
  public func cancel() {
    if process.isAlive { process.daemon.end(transfer, .failure(.cancelled)) }
  }
}

open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}

open class URLSession: NSObject, @unchecked Sendable {
  public let configuration: URLSessionConfiguration
  public let delegate: (any URLSessionDelegate)?
  public let delegateQueue: OperationQueue
  var process: AppProcess { configuration.process }
  var identifier: String { configuration.identifier ?? "" }

  public init(
    configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?,
    delegateQueue queue: OperationQueue?
  ) {
    (self.configuration, self.delegate) = (configuration, delegate)
    if let queue {
      delegateQueue = queue
    } else {
      delegateQueue = OperationQueue()
      delegateQueue.maxConcurrentOperationCount = 1
    }
    super.init()
    process.attach(self)
  }

  public func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
    let daemon = process.daemon
    if process.isAlive, !FileManager.default.isReadableFile(atPath: fileURL.path) {
      // The real class raises an exception, which ends the app.
      daemon.addMisuse("an upload of a file that cannot be read: \(fileURL.lastPathComponent)")
    }
    if request.httpBody != nil { daemon.addMisuse("an upload of a file whose request has a body") }
    let transfer =
      process.isAlive
      ? daemon.make(request, fileURL, identifier) : Transfer(0, request, fileURL, identifier)
    return URLSessionUploadTask(transfer, process)
  }

  public func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
    let transfers = process.isAlive ? process.daemon.transfers(of: identifier) : []
    let tasks = transfers.map { URLSessionUploadTask($0, process) }
    delegateQueue.addOperation { completionHandler(tasks) }
  }

  public func finishTasksAndInvalidate() {
    process.daemon.addMisuse("a background session is invalidated, and its ends are lost")
  }

  public func invalidateAndCancel() { finishTasksAndInvalidate() }
}
