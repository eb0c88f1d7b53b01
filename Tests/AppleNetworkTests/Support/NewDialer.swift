import HoldfastAppleNetwork
import HoldfastPorts

/// Returns a dialer over `NWConnection`, for tests that hold for every dialer.
func newDialer(
  maxQueuedBytes: Int = 1_048_576, offersDeflate: Bool = true
) throws -> any SocketDialer {
  NetworkDial(
    NetworkConfiguration(maxQueuedBytes: maxQueuedBytes, offersDeflate: offersDeflate))
}
