"""Machines in the cloud: planned with their price, launched, watched and taken down.

    plan        what is to run: machines per role, hours, budget
    prices      dated prices of machines, disks and traffic, from a file that users can edit
    stack       the CloudFormation template of a plan; boot: what a machine runs when it starts
    checks      faults of a template: an open door, a missing tag, no budget
    quotas      whether the account may run the plan
    launch      up and status; teardown: down, and what is left that costs
    cost        time and money of games, steps and searches, from measured rates

boto3 and troposphere are imported in this room alone (extra `cloud`).
"""
