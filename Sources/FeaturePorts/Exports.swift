// The ports of the features use those of the device, so importing this module imports those too.
@_exported public import HoldfastPorts
