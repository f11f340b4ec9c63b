"""What watches over the stack: logs, dashboard, the budget's alarm and the automatic end.

The machines end at EndTime, or when the trainer's run has reached its stop, or when the budget is
spent, whichever is first; Redis and the gateway follow at RestTime, when machines have drained.
"""

import json
from typing import Any

from troposphere import GetAtt, Join, Ref, Sub, Template
from troposphere.awslambda import Code, Environment, Function, Permission
from troposphere.budgets import (
    Budget,
    BudgetData,
    Notification,
    NotificationWithSubscribers,
    ResourceTag,
    Spend,
    Subscriber,
)
from troposphere.cloudwatch import Dashboard
from troposphere.iam import Policy
from troposphere.iam import Role as IamRole
from troposphere.logs import LogGroup
from troposphere.scheduler import FlexibleTimeWindow, Schedule, Target
from troposphere.sns import SubscriptionResource, Topic, TopicPolicy

from zerofleet.cloud.boot import script
from zerofleet.cloud.plan import Plan
from zerofleet.cloud.stack_machines import group_name
from zerofleet.cloud.stack_parts import allow, arn, name, policy, tag_list, tags, trust

LOG_DAYS = 30
ALARM_PERCENT = (50, 80, 100)


def add_guards(template: Template, plan: Plan) -> None:
    template.add_resource(
        LogGroup(
            "Logs",
            LogGroupName=Sub("/zerofleet/${RunName}"),
            RetentionInDays=LOG_DAYS,
            Tags=tags("logs"),
        )
    )
    _add_dashboard(template, plan)
    _add_shutdown(template, plan)
    _add_budget(template)


def _add_dashboard(template: Template, plan: Plan) -> None:
    def metrics(title: str, rows: list[list[Any]], width: int = 12) -> dict[str, Any]:
        properties = {"title": title, "metrics": rows, "region": "${AWS::Region}", "period": 60}
        return {"type": "metric", "width": width, "height": 6, "properties": properties}

    groups = [f"zerofleet-${{RunName}}-{role}" for role in plan.machines()]
    of_group = "AutoScalingGroupName"
    widgets = [
        metrics(
            "machines in service",
            [["AWS/AutoScaling", "GroupInServiceInstances", of_group, each] for each in groups],
        ),
        metrics("CPU, %", [["AWS/EC2", "CPUUtilization", of_group, each] for each in groups]),
        metrics("network in", [["AWS/EC2", "NetworkIn", of_group, each] for each in groups]),
    ]
    if plan.redis:
        redis = ["CacheClusterId", "zerofleet-${RunName}-001"]
        widgets.append(
            metrics(
                "Redis",
                [
                    ["AWS/ElastiCache", metric, *redis]
                    for metric in ("DatabaseMemoryUsagePercentage", "EngineCPUUtilization")
                ],
            )
        )
    query = "SOURCE '/zerofleet/${RunName}' | filter @message like /(?i)error|refused/ | limit 50"
    properties = {"title": "errors", "query": query, "region": "${AWS::Region}", "view": "table"}
    widgets.append({"type": "log", "width": 24, "height": 6, "properties": properties})
    template.add_resource(
        Dashboard(
            "Dashboard",
            DashboardName=name("fleet"),
            DashboardBody=Sub(json.dumps({"widgets": widgets})),
            Tags=tags("dashboard"),
        )
    )


def _add_shutdown(template: Template, plan: Plan) -> None:
    add = template.add_resource
    groups = arn(
        "autoscaling",
        "autoScalingGroup:*:autoScalingGroupName/zerofleet-${RunName}-*",
    )
    own_logs = arn("logs", "log-group:/aws/lambda/zerofleet-${RunName}-shutdown:*")
    statements = [
        allow(["autoscaling:UpdateAutoScalingGroup"], groups),
        allow(["ec2:DeleteNatGateway"], arn("ec2", "natgateway/${NatGateway}")),
        allow(["logs:CreateLogStream", "logs:PutLogEvents"], own_logs),
    ]
    variables: dict[str, Any] = {
        "GROUPS": Join(",", [group_name(role) for role in plan.machines()]),
        "NAT": Ref("NatGateway"),
    }
    if plan.redis:
        variables["REDIS"] = Ref("Redis")
        redis = [arn("elasticache", "replicationgroup:${Redis}"), arn("elasticache", "cluster:*")]
        statements.append(allow(["elasticache:DeleteReplicationGroup"], redis[0]))
    add(
        IamRole(
            "ShutdownRole",
            AssumeRolePolicyDocument=trust("lambda"),
            Policies=[Policy(PolicyName="shutdown", PolicyDocument=policy(*statements))],
            Tags=tags("shutdown"),
        )
    )
    add(
        LogGroup(
            "ShutdownLogs",
            LogGroupName=Sub("/aws/lambda/zerofleet-${RunName}-shutdown"),
            RetentionInDays=LOG_DAYS,
            Tags=tags("shutdown"),
        )
    )
    add(
        Function(
            "Shutdown",
            FunctionName=name("shutdown"),
            Description="Ends what the run pays by the hour.",
            Runtime="python3.13",
            Handler="index.handler",
            Timeout=60,
            Code=Code(ZipFile=script("shutdown.py")),
            Role=GetAtt("ShutdownRole", "Arn"),
            Environment=Environment(Variables=variables),
            Tags=tags("shutdown"),
            DependsOn=["ShutdownLogs"],
        )
    )
    add(
        IamRole(
            "ClockRole",
            AssumeRolePolicyDocument=trust(
                "scheduler", StringEquals={"aws:SourceAccount": Ref("AWS::AccountId")}
            ),
            Policies=[
                Policy(
                    PolicyName="clock",
                    PolicyDocument=policy(
                        allow(["lambda:InvokeFunction"], GetAtt("Shutdown", "Arn"))
                    ),
                )
            ],
            Tags=tags("shutdown"),
        )
    )
    for title, phase, time in (
        ("EndOfMachines", "groups", "EndTime"),
        ("EndOfRest", "rest", "RestTime"),
    ):
        add(
            Schedule(
                title,
                Description=f"Runs phase {phase} of the shutdown once.",
                ScheduleExpression=Sub(f"at(${{{time}}})"),
                FlexibleTimeWindow=FlexibleTimeWindow(Mode="OFF"),
                Target=Target(
                    Arn=GetAtt("Shutdown", "Arn"),
                    RoleArn=GetAtt("ClockRole", "Arn"),
                    Input=json.dumps({"phase": phase}),
                ),
            )
        )


def _add_budget(template: Template) -> None:
    add = template.add_resource
    add(Topic("SpentTopic", Tags=tags("budget")))
    add(
        TopicPolicy(
            "SpentTopicPolicy",
            Topics=[Ref("SpentTopic")],
            PolicyDocument=policy(
                {
                    "Effect": "Allow",
                    "Action": "sns:Publish",
                    "Resource": Ref("SpentTopic"),
                    "Principal": {"Service": "budgets.amazonaws.com"},
                    "Condition": {"StringEquals": {"aws:SourceAccount": Ref("AWS::AccountId")}},
                }
            ),
        )
    )
    add(
        SubscriptionResource(
            "SpentShutdown",
            TopicArn=Ref("SpentTopic"),
            Protocol="lambda",
            Endpoint=GetAtt("Shutdown", "Arn"),
        )
    )
    add(
        Permission(
            "SpentPermission",
            Action="lambda:InvokeFunction",
            FunctionName=GetAtt("Shutdown", "Arn"),
            Principal="sns.amazonaws.com",
            SourceArn=Ref("SpentTopic"),
        )
    )
    mail = Subscriber(SubscriptionType="EMAIL", Address=Ref("NotifyAddress"))
    end_all = Subscriber(SubscriptionType="SNS", Address=Ref("SpentTopic"))
    alarms = [
        NotificationWithSubscribers(
            Notification=Notification(
                NotificationType="ACTUAL",
                ComparisonOperator="GREATER_THAN",
                Threshold=percent,
                ThresholdType="PERCENTAGE",
            ),
            Subscribers=[mail, *([end_all] if percent == 100 else [])],
        )
        for percent in ALARM_PERCENT
    ]
    add(
        Budget(
            "Budget",
            Budget=BudgetData(
                BudgetName=name("budget"),
                BudgetType="COST",
                TimeUnit="MONTHLY",
                BudgetLimit=Spend(Amount=Ref("BudgetUsd"), Unit="USD"),
                CostFilters={"TagKeyValue": [Sub("user:Run$${RunName}")]},
            ),
            NotificationsWithSubscribers=alarms,
            ResourceTags=[
                ResourceTag(Key=each["Key"], Value=each["Value"]) for each in tag_list("budget")
            ],
        )
    )
