public import HoldfastCore

/// The rules by which a server loads its certificate again, and the figures for its metrics.
///
/// The two files are looked at once a minute, and when an operator requests it. They are loaded if
/// they have changed since the last attempt, if that attempt failed, or on request. After a failure
/// the certificate in use stays, and each change of the files or of the reason is reported once. A
/// certificate that is not valid now fails if the one in use is valid.
public struct CertificateReloads: Sendable, Hashable {
  /// The time between two looks: a minute. A certificate is renewed days before its end, and a look
  /// takes two calls of stat(2).
  public static let interval = Duration.seconds(60)

  /// The facts by which a file is recognized, after all symbolic links of its path are followed.
  ///
  /// Kubernetes and certbot replace a link instead of the content of a file, and a copy may keep
  /// the time of modification; then the number or the time of the last change differs.
  public struct File: Sendable, Hashable {
    /// The file system (st_dev of stat(2)).
    public var device: UInt64
    /// The number of the file (st_ino).
    public var number: UInt64
    /// The size in bytes.
    public var size: Int64
    /// The time at which the content was modified (st_mtim).
    public var modified: Timestamp
    /// The time at which content, owner, permissions or links were changed (st_ctim).
    public var changed: Timestamp

    /// Creates the facts about a file.
    public init(
      device: UInt64, number: UInt64, size: Int64, modified: Timestamp, changed: Timestamp
    ) {
      (self.device, self.number, self.size) = (device, number, size)
      (self.modified, self.changed) = (modified, changed)
    }
  }

  /// Both files; a missing one is `nil`.
  public struct Files: Sendable, Hashable {
    /// The file of the certificate and its chain.
    public var chain: File?
    /// The file of the private key.
    public var key: File?

    /// Creates the facts about both files.
    public init(chain: File?, key: File?) {
      (self.chain, self.key) = (chain, key)
    }
  }

  /// The time in which a certificate is valid (RFC 5280 section 4.1.2.5).
  public struct Validity: Sendable, Hashable {
    /// The first time (notBefore).
    public var start: Timestamp
    /// The last time (notAfter).
    public var end: Timestamp

    /// Creates the time between two times, which belong to it.
    public init(from start: Timestamp, to end: Timestamp) {
      (self.start, self.end) = (start, end)
    }

    /// Returns whether the certificate is valid at a time.
    func contains(_ time: Timestamp) -> Bool { start <= time && time <= end }
  }

  /// The files at the last attempt.
  private var attempted: Files
  /// The validity of the certificate in use.
  private var validity: Validity
  /// The reason why the last attempt failed; `nil` if it succeeded.
  public private(set) var failure: String?
  /// The number of times that a certificate was loaded after the start.
  public private(set) var loads: UInt64 = 0

  /// Creates the rules for a certificate that was loaded at the start.
  public init(_ files: Files, _ validity: Validity) {
    (attempted, self.validity) = (files, validity)
  }

  /// Returns whether the files must be loaded.
  public func mustLoad(_ found: Files, isRequested: Bool) -> Bool {
    isRequested || failure != nil || found != attempted
  }

  /// Returns the reason why a certificate must not replace the one in use; `nil` if it may.
  public func objection(to other: Validity, at now: Timestamp) -> String? {
    guard !other.contains(now), validity.contains(now) else { return nil }
    let fault =
      other.end < now
      ? "it expired at \(RFC3339.format(other.end))"
      : "it is not valid before \(RFC3339.format(other.start))"
    return "\(fault), and the one in use is valid until \(RFC3339.format(validity.end))"
  }

  /// Records a certificate that was loaded.
  ///
  /// - Parameter files: The files as they were before they were read.
  public mutating func loaded(_ files: Files, _ validity: Validity) {
    (attempted, self.validity, failure) = (files, validity, nil)
    loads += 1
  }

  /// Records files that cannot be used. Returns whether to report this.
  public mutating func refused(_ files: Files, _ reason: String, isRequested: Bool) -> Bool {
    defer { (attempted, failure) = (files, reason) }
    return isRequested || files != attempted || failure != reason
  }

  /// Adds the figures to the backend's page.
  public func report(to page: inout MetricsPage, at now: Timestamp) {
    page.one(
      "tls_certificate_expiry_seconds", .gauge,
      "Time until the certificate in use expires, negative after that.",
      now.duration(to: validity.end).components.seconds)
    page.one(
      "tls_certificate_reloads_total", .counter, "Certificates loaded after the start.", loads)
    page.one(
      "tls_certificate_reload_failed", .gauge,
      "Whether the files of the certificate cannot be used (1); the former one stays in use.",
      failure == nil ? 0 : 1)
  }
}
